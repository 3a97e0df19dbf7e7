// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/advice.hpp"

#include "wsc/base/format.hpp"

namespace wsc::plan {
namespace {

/// The first of these changes with which the plan fits, in words; empty if none does.
std::string what_helps(const Graph& graph, const Request& request) {
  const auto fits = [&](const Request& r) { return make_plan(graph, r).fits; };
  Request automatic = request;
  automatic.waves = 0;
  if (!request.ordered) automatic.leaves = 0;
  automatic.recompute = "auto";
  automatic.micro_batch = 0;
  automatic.prefetch = -1;
  const Plan chosen = make_plan(graph, automatic);
  if (chosen.fits)
    return "With train_input.micro_batch_size, csx.waves, csx.leaves, csx.recompute and csx.prefetch left to auto it fits in " +
           std::to_string(chosen.waves) + (chosen.waves == 1 ? " wave." : " waves.");
  for (int csx = 2 * request.layout.csx; csx <= request.batch; csx *= 2) {
    Request more = automatic;
    more.layout.csx = csx;
    if (request.ordered && !whole_subtrees(request.leaves, 1, csx)) continue;
    if (fits(more)) return "With cluster.num_csx=" + std::to_string(csx) + " it fits.";
  }
  return "Its largest stage needs csx.memory=" + bytes_text(chosen.bytes.total()) + " at least: give more, or use a smaller model.";
}

}  // namespace

std::string does_not_fit(const Graph& graph, const Plan& plan) {
  return "the plan needs " + bytes_text(plan.bytes.total()) + " on a csx, csx.memory is " + bytes_text(plan.request.memory) + ". " +
         what_helps(graph, plan.request);
}

}  // namespace wsc::plan
