// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "wsc/cli/command.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/optimizer/update_rule.hpp"
#include "wsc/plan/summary.hpp"
#include "wsc/train/plans.hpp"

namespace wsc::cli {
namespace {

constexpr const char* usage = "plan DECK [--json | --graph | --params] [--section.key=value …]";

/// T of a dry run: the deck's, without opening any data.
std::int64_t sequence_length(const Settings& s) {
  return s.train_input.max_sequence_length > 0 ? s.train_input.max_sequence_length : s.model.max_position_embeddings;
}

/// The batch size of the schedule whose plan needs most of a csx: if it fits, all do.
plan::Plan largest_plan(const Settings& s, const Graph& graph) {
  const fabric::Layout layout{static_cast<int>(std::max<std::int64_t>(1, s.cluster.memoryx)),
                              static_cast<int>(std::max<std::int64_t>(1, s.cluster.num_csx))};
  const bool streamed = layout.ranks() > 2 || (s.cluster.fabric != "null" && (s.cluster.memoryx > 0 || s.cluster.num_csx > 0));
  const int threads =
      s.cluster.threads > 0 ? static_cast<int>(s.cluster.threads) : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto sizes = train::batch_sizes(s, 0);
  const std::int64_t batch = *std::max_element(sizes.begin(), sizes.end());
  return plan::make_plan(graph, plan::request_from(s, plan::Purpose::train, batch, sequence_length(s), layout, threads, streamed));
}

}  // namespace

ExitCode plan(Arguments arguments) {
  const std::vector<std::string> overrides = take_overrides(arguments);
  const bool json = take_flag(arguments, "json"), stages = take_flag(arguments, "graph"), parameters = take_flag(arguments, "params");
  if (arguments.empty()) throw SettingsError(std::string("which deck? Usage: wsc ") + usage);
  const std::string deck = arguments.front();
  arguments.erase(arguments.begin());
  expect_no_more(arguments, usage);

  const Settings settings = read_settings(deck, overrides);
  const Graph graph = models::build(settings.model);
  if (stages) {
    std::printf("%s", describe(graph).c_str());
    return ExitCode::ok;
  }
  if (parameters) {
    std::printf("%s", plan::parameter_table(graph).c_str());
    return ExitCode::ok;
  }
  const plan::Plan plan = largest_plan(settings, graph);
  const auto states = optimizer::state_names(optimizer::update_rule(settings.optimizer));
  plan::Summary summary = plan::summarise(settings, graph, plan, static_cast<int>(states.size()));
  summary.deck = deck;
  std::printf("%s\n", (json ? plan::summary_json(summary, graph, plan) : plan::summary_text(summary, graph, plan)).c_str());
  return ExitCode::ok;
}

}  // namespace wsc::cli
