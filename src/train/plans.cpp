// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/plans.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"
#include "wsc/plan/advice.hpp"

namespace wsc::train {
namespace {

PlannedPass make(const Graph& graph, const plan::Request& request) {
  PlannedPass pass{plan::make_plan(graph, request), {}};
  if (!pass.plan.fits) throw SettingsError(plan::does_not_fit(graph, pass.plan));
  pass.schedule = pass.plan.schedule();
  return pass;
}

}  // namespace

std::vector<std::int64_t> batch_sizes(const Settings& settings, std::int64_t first) {
  std::vector<std::int64_t> sizes{settings.batch_size(first)};
  const auto add = [&](std::int64_t batch) {
    if (std::find(sizes.begin(), sizes.end(), batch) == sizes.end()) sizes.push_back(batch);
  };
  for (const BatchScheduleSettings& piece : settings.train_input.batch_schedule)
    if (piece.until_step > first) {
      add(piece.batch_size);
      if (piece.until_step < settings.runconfig.max_steps) add(settings.batch_size(piece.until_step));
    }
  return sizes;
}

Plans::Plans(const Graph& graph, const Settings& settings, const Setup& setup) {
  using plan::Purpose;
  const auto request = [&](Purpose purpose, std::int64_t batch, std::int64_t tokens) {
    return plan::request_from(settings, purpose, batch, tokens, setup.layout, setup.threads, setup.streamed);
  };
  if (setup.tokens > 0)
    for (const std::int64_t batch : batch_sizes(settings, 0))
      train_.emplace(batch, make(graph, request(Purpose::train, batch, setup.tokens)));
  if (setup.eval_tokens > 0)
    evaluate_.push_back(make(graph, request(Purpose::evaluate, settings.eval_input.batch_size, setup.eval_tokens)));
}

}  // namespace wsc::train
