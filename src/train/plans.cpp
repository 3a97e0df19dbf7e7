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

/// Bytes of a csx that holds the largest of each buffer over these plans: they are shared, not made anew for each.
std::int64_t shared_bytes(const std::map<std::int64_t, PlannedPass>& passes, const plan::Plan& more) {
  plan::CsxBytes most = more.bytes;
  std::int64_t arena = most.activations + most.scratch;
  for (const auto& [batch, pass] : passes) {
    const plan::CsxBytes& b = pass.plan.bytes;
    arena = std::max(arena, b.activations + b.scratch);
    most.weight_window = std::max(most.weight_window, b.weight_window);
    most.compute_copy = std::max(most.compute_copy, b.compute_copy);
    most.gradient_buffers = std::max(most.gradient_buffers, b.gradient_buffers);
    most.batches = std::max(most.batches, b.batches);
  }
  most.activations = arena;
  most.scratch = 0;
  return most.total();
}

/// The plan of the evaluation, which has to fit csx.memory together with those of the training: with less prefetch if need be.
PlannedPass make_beside(const std::map<std::int64_t, PlannedPass>& train, const Graph& graph, plan::Request request) {
  PlannedPass pass = make(graph, request);
  for (int prefetch = pass.plan.prefetch; request.memory > 0 && prefetch >= 0; --prefetch) {
    if (shared_bytes(train, pass.plan) <= request.memory) return pass;
    request.prefetch = std::max(prefetch - 1, 0);
    pass = make(graph, request);
  }
  if (request.memory > 0 && shared_bytes(train, pass.plan) > request.memory)
    throw SettingsError(
        "training fits csx.memory, but not together with the evaluation, which needs larger buffers. Lower "
        "eval_input.batch_size or train_input.batch_size, or give more csx.memory.");
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
    evaluate_.push_back(make_beside(train_, graph, request(Purpose::evaluate, settings.eval_input.batch_size, setup.eval_tokens)));
}

}  // namespace wsc::train
