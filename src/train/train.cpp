// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/train.hpp"

#include <fstream>
#include <optional>

#include "wsc/base/error.hpp"
#include "wsc/base/format.hpp"
#include "wsc/base/log.hpp"
#include "wsc/checkpoint/directory.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/fabric/world.hpp"
#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/measured_product.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/optimizer/update_rule.hpp"
#include "wsc/train/leader.hpp"
#include "wsc/train/resume.hpp"
#include "wsc/train/stop.hpp"

namespace wsc::train {
namespace {

void write_deck(const Settings& settings) {
  const std::filesystem::path path = std::filesystem::path(settings.runconfig.model_dir) / "config.cfg", fresh = path.string() + ".new";
  std::ofstream out(fresh);
  out << to_deck(settings);
  out.close();
  if (!out) throw SystemError("cannot write " + fresh.string() + ". Is the disk full or the run directory read-only?");
  std::filesystem::rename(fresh, path);
}

/// Which runs have the same numbers, to the last bit.
std::string guarantee(const Settings& settings) {
  if (!settings.cluster.ordered()) return "Same layout, same numbers: bitwise.";
  return "Same numbers on every layout whose parts are whole subtrees of " + std::to_string(settings.csx.leaves) + " leaves: bitwise.";
}

void announce(const Settings& settings, const Graph& graph, const Plans& plans, const Setup& setup, const Start& start) {
  log::info("Settings in use (* differs from the default):\n" + settings_table(settings));
  const plan::Plan& p = plans.train(settings.batch_size(start.state.step)).plan;
  log::info(printf_text("%s parameters; %d memoryx and %d csx ranks%s, %d thread%s per csx.", count_text(graph.parameters()).c_str(),
                        setup.layout.memoryx, setup.layout.csx, setup.streamed ? "" : " in one process", setup.threads,
                        setup.threads == 1 ? "" : "s"));
  log::info(printf_text("Plan: %lld wave%s, %s of activations and scratch per csx, weight window %s. %s", static_cast<long long>(p.waves),
                        p.waves == 1 ? "" : "s", bytes_text(static_cast<double>(p.bytes.activations + p.bytes.scratch)).c_str(),
                        bytes_text(static_cast<double>(p.bytes.weight_window)).c_str(), guarantee(settings).c_str()));
  if (!settings.train_input.shuffle) log::info("Shuffling is off (train_input.shuffle): samples come in the order of the files.");
}

/// FLOPs in a second of matrix products alone, like those of the model's largest linear op, on all csx at once; on rank 0. Before anything
/// large is allocated.
double gemm_flops_per_s(Control& control, const Graph& graph, const plan::Plan& plan, const Setup& setup) {
  double mine = 0;
  if (!control.channel() || !setup.layout.is_memoryx(control.channel()->rank())) {
    std::int64_t rows = 0, in = 0, out = 0;
    for (std::size_t s = 0; s < graph.stages.size(); ++s)
      for (const Op& op : graph.stages[s].ops)
        if (const auto* linear = std::get_if<Linear>(&op); linear && linear->in * linear->out > in * out)
          rows = plan.stages[s].tile_rows, in = linear->in, out = linear->out;
    mine = kernels::linear_flops_per_s(rows, in, out);
  }
  double sum = 0;
  for (const double rate : control.to_leader(mine)) sum += rate;
  return sum;
}

/// The part of a run's state that every rank needs.
struct StartNumbers {
  std::int64_t step = 0, samples = 0;
  std::int32_t finished = 0, what = 0;
};

/// Rank 0's loop; the others are told of its end.
ExitCode lead(Leader& leader, Control& control) {
  ExitCode code = ExitCode::ok;
  const auto attempt = [&](const auto& body) {
    try {
      body();
    } catch (const LeaderStop& stop) {
      log::error(stop.what());
      if (code == ExitCode::ok) code = stop.code();
    }
  };
  attempt([&] { code = leader.run(); });
  attempt([&] { leader.complete_save(); });  // the state of a save under way is good, whatever came after it
  control.from_leader(PassOrder{});
  log::close_file();
  return code;
}

}  // namespace

ExitCode train(const Settings& settings, Setup setup, fabric::Channel* channel) {
  Control control(channel);
  kernels::same_products_for_all_threads(settings.cluster.ordered());
  watch_signals();
  const Graph graph = models::build(settings.model);
  RunData data;
  std::optional<Plans> plans;
  control.agree([&] {
    data = open_data(settings, true, settings.runconfig.eval_frequency > 0);
    setup.tokens = data.train->sequence_length();
    setup.eval_tokens = data.evaluate ? data.evaluate->sequence_length() : 0;
    plans.emplace(graph, settings, setup);
  });

  // Rank 0 alone decides where the run starts; all others hear of it.
  std::optional<checkpoint::RunLock> lock;
  Start start;
  control.agree([&] {
    if (!control.leads()) return;
    lock.emplace(checkpoint::RunLock::acquire(settings.runconfig.model_dir));
    log::open_file(std::filesystem::path(settings.runconfig.model_dir) / "run.log");
    start = find_start(settings, graph, *data.train, setup);
    write_deck(settings);
  });
  const StartNumbers numbers = control.from_leader(StartNumbers{
      start.state.step, start.state.samples, start.state.step >= settings.runconfig.max_steps, static_cast<std::int32_t>(start.what)});
  if (numbers.finished) {
    if (control.leads())
      log::info("This run is finished: " + settings.runconfig.model_dir + " has " + std::to_string(start.state.step) +
                " steps and runconfig.max_steps is " + std::to_string(settings.runconfig.max_steps) + ". Nothing to do.");
    return ExitCode::ok;
  }

  const double gemm_rate = gemm_flops_per_s(control, graph, plans->train(settings.batch_size(numbers.step)).plan, setup);
  std::optional<Member> member;
  control.agree([&] { member.emplace(graph, settings, *plans, setup, data, control); });
  ExitCode code = ExitCode::ok;
  fabric::guarded(channel, [&] {
    const std::string path = control.from_leader(start.checkpoint.string());
    if (path.empty() || static_cast<checkpoint::What>(numbers.what) == checkpoint::What::model)
      member->initialise(static_cast<std::uint64_t>(settings.runconfig.seed));
    if (!path.empty()) member->load(path, static_cast<checkpoint::What>(numbers.what));
    if (!settings.runconfig.trace.empty()) member->begin_timeline(settings.runconfig, setup.layout);
    if (member->csx()) member->csx()->start_reading(numbers.step, numbers.samples);
    if (control.leads()) {
      announce(settings, graph, *plans, setup, start);
      Leader leader(*member, settings, setup, data, *lock, start.state, gemm_rate);
      code = lead(leader, control);
    } else {
      obey(*member);
    }
    code = control.from_leader(code);
  });
  return code;
}

Evaluation evaluate_checkpoint(const Settings& settings, Setup setup, fabric::Channel* channel, const std::filesystem::path& checkpoint) {
  Control control(channel);
  kernels::same_products_for_all_threads(settings.cluster.ordered());
  const Graph graph = models::build(settings.model);
  RunData data;
  std::optional<Plans> plans;
  std::optional<Member> member;
  control.agree([&] {
    data = open_data(settings, false, true);
    setup.eval_tokens = data.evaluate->sequence_length();
    plans.emplace(graph, settings, setup);
    if (control.leads() && !checkpoint.empty()) {
      const auto state = checkpoint::read_run_state(checkpoint);
      checkpoint::check_model(checkpoint, graph);
      data::require_tokenizer(*data.evaluate, state.tokenizer_hash, checkpoint.string());
    }
    member.emplace(graph, settings, *plans, setup, data, control);
  });
  Evaluation result;
  fabric::guarded(channel, [&] {
    member->initialise(static_cast<std::uint64_t>(settings.runconfig.seed));
    if (!checkpoint.empty()) member->load(checkpoint, checkpoint::What::model);
    if (!control.leads()) return obey(*member);
    result = evaluate(*member, data.evaluate->size(), settings.eval_input.batch_size, settings.runconfig.eval_steps, PassOrder{},
                      [](const auto&) { return true; });
    control.from_leader(PassOrder{});
  });
  return result;
}

}  // namespace wsc::train
