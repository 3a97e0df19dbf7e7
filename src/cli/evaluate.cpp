// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>

#include "wsc/base/format.hpp"
#include "wsc/base/log.hpp"
#include "wsc/checkpoint/directory.hpp"
#include "wsc/checkpoint/run_state.hpp"
#include "wsc/cli/cluster.hpp"
#include "wsc/cli/command.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/data/dataset.hpp"
#include "wsc/data/tokenizer.hpp"
#include "wsc/train/train.hpp"

namespace wsc::cli {
namespace {

constexpr const char* usage = "eval DECK|RUN [--checkpoint FILE | --all] [--section.key=value …]";

/// Bytes of text per counted token, from the data's own tokenizer: what turns nats per token into bits per byte. 0 = not known.
double bytes_per_token(const data::Dataset& data) {
  const std::string text = data.tokenizer_text();
  if (text.empty()) return 0;
  const auto tokenizer = data::tokenizer_from_text(text, data.path());
  data::Batch batch(1, data.sequence_length(), data.has_spans(), data.has_positions());
  std::int64_t bytes = 0, tokens = 0;
  for (std::int64_t s = 0; s < data.size(); ++s) {
    data.read(s, batch.rows(0));
    std::vector<std::int32_t> counted;
    for (std::int64_t t = 0; t < batch.T; ++t)
      if (batch.loss_mask[t]) counted.push_back(batch.labels[t]);
    tokens += static_cast<std::int64_t>(counted.size());
    bytes += static_cast<std::int64_t>(tokenizer->decode(counted).size());
  }
  return tokens > 0 ? static_cast<double>(bytes) / static_cast<double>(tokens) : 0;
}

void print(const std::string& what, const train::Evaluation& e, double bytes) {
  std::string line = printf_text("%s: loss %.6f, perplexity %.5g", what.c_str(), e.loss(), e.perplexity());
  if (bytes > 0) line += printf_text(", %.4f bits per byte", e.loss() / std::numbers::ln2 / bytes);
  std::printf("%s, %lld tokens\n", line.c_str(), static_cast<long long>(e.valid_tokens));
  std::fflush(stdout);
}

std::vector<std::filesystem::path> choose(const std::string& run_dir, const std::string& file, bool all) {
  if (!file.empty()) return {file};
  std::vector<std::filesystem::path> paths;
  if (all) {
    for (const auto& c : checkpoint::list(run_dir))
      if (c.status == checkpoint::Status::complete) paths.push_back(c.path);
  } else if (const auto newest = checkpoint::newest_complete(run_dir)) {
    paths.push_back(newest->path);
  }
  if (paths.empty()) throw DataError(run_dir + " has no complete checkpoint to evaluate. Train first, or name one with --checkpoint.");
  return paths;
}

}  // namespace

ExitCode evaluate(Arguments arguments) {
  const std::vector<std::string> overrides = take_overrides(arguments);
  std::string file = take_option(arguments, "checkpoint");
  const bool all = take_flag(arguments, "all");
  if (arguments.empty()) throw SettingsError(std::string("which deck or run? Usage: wsc ") + usage);
  const std::filesystem::path target = arguments.front();
  arguments.erase(arguments.begin());
  expect_no_more(arguments, usage);

  Settings settings;
  std::string run_dir;
  if (std::filesystem::is_directory(target)) {
    settings = read_settings(target / "config.cfg", overrides);
    run_dir = target.string();
  } else if (target.extension() == ".h5") {
    settings = parse_settings(checkpoint::read_run_state(target).deck, target.string(), overrides);
    file = target.string();
  } else {
    settings = read_settings(target, overrides);
    run_dir = settings.runconfig.model_dir;
  }
  // The run's layout is no matter here: whatever was started does it, one process too.
  const auto given = [&](const char* key) {
    return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& o) { return o.find(key) != std::string::npos; });
  };
  if (!given("cluster.memoryx")) settings.cluster.memoryx = 0;
  if (!given("cluster.num_csx")) settings.cluster.num_csx = 0;
  if (!given("runconfig.eval_steps")) settings.runconfig.eval_steps = 0;  // all of the data
  return run_cluster(settings, [&](const train::Setup& setup, fabric::Channel* channel) {
    train::Control control(channel);
    std::string list;
    control.agree([&] {
      if (!control.leads()) return;
      for (const auto& path : choose(run_dir, file, all)) list += path.string() + "\n";
    });
    list = control.from_leader(list);
    double bytes = -1;
    for (std::size_t begin = 0, end; (end = list.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string path = list.substr(begin, end - begin);
      const train::Evaluation e = train::evaluate_checkpoint(settings, setup, channel, path);
      if (!control.leads()) continue;
      if (bytes < 0) bytes = bytes_per_token(*train::open_data(settings, false, true).evaluate);
      print(path, e, bytes);
      if (!std::isfinite(e.loss())) throw NumericalError(path + ": the loss is not finite: the model has diverged.");
    }
    return ExitCode::ok;
  });
}

}  // namespace wsc::cli
