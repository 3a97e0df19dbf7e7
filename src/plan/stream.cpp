// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lifetimes.hpp"

#include "wsc/plan/arena.hpp"

namespace wsc::plan {
namespace {

/// Blocks that the backward visit reads: those of backward itself and of the ops that run again.
std::vector<BlockId> backward_blocks(const Graph& graph, const Plan& plan, StageId id) {
  std::vector<BlockId> blocks = graph[id].backward_blocks;
  const auto& rerun = plan.stages[id.index].rerun;
  for (std::size_t i = 0; i < rerun.size(); ++i) {
    if (!rerun[i]) continue;
    for (const WeightId w : op_weights(graph[id].ops[i]))
      if (std::find(blocks.begin(), blocks.end(), graph[w].block) == blocks.end()) blocks.push_back(graph[w].block);
  }
  return blocks;
}

void mark_last_contributions(std::vector<PlannedVisit>& visits, std::size_t blocks) {
  std::vector<bool> seen(blocks, false);
  for (auto visit = visits.rbegin(); visit != visits.rend(); ++visit)
    for (const BlockId b : visit->stream.gradients) {
      visit->stream.gradient_is_last.push_back(!seen[b.index]);
      seen[b.index] = true;
    }
}

}  // namespace

std::vector<PlannedVisit> order_visits(const Graph& graph, const Plan& plan) {
  const int last = graph.turn().index;
  const bool train = plan.request.purpose == Purpose::train;
  std::vector<PlannedVisit> visits;
  for (int s = 0; s <= last; ++s) {
    PlannedVisit v{StageId(s), train && s == last ? Direction::turn : Direction::forward, {}};
    v.stream.receives = graph.stages[s].blocks;
    if (v.direction == Direction::turn) v.stream.gradients = graph.stages[s].blocks;
    visits.push_back(std::move(v));
  }
  for (int s = last - 1; train && s >= 0; --s) {
    PlannedVisit v{StageId(s), Direction::backward, {}};
    v.stream.receives = backward_blocks(graph, plan, v.stage);
    v.stream.gradients = graph.stages[s].blocks;
    visits.push_back(std::move(v));
  }
  mark_last_contributions(visits, graph.blocks.size());
  return visits;
}

void place_blocks(const Graph& graph, Plan& plan) {
  std::vector<CyclicItem> window, buffers;
  int senders = 0;
  for (std::size_t v = 0; v < plan.visits.size(); ++v) {
    for (const BlockId b : plan.visits[v].stream.receives) window.push_back({static_cast<int>(v), graph[b].elements, -1});
    for (const BlockId b : plan.visits[v].stream.gradients) buffers.push_back({senders, graph[b].elements, -1});
    if (!plan.visits[v].stream.gradients.empty()) ++senders;
  }
  plan.window_elements = pack_cyclic(window, static_cast<int>(plan.visits.size()), plan.prefetch);
  plan.gradient_elements = senders > 0 ? pack_cyclic(buffers, senders, 1) : 0;
  std::size_t w = 0, g = 0;
  for (PlannedVisit& visit : plan.visits) {
    visit.stream.window_offsets.clear();
    visit.stream.gradient_offsets.clear();
    for (std::size_t i = 0; i < visit.stream.receives.size(); ++i) visit.stream.window_offsets.push_back(window[w++].offset);
    for (std::size_t i = 0; i < visit.stream.gradients.size(); ++i) visit.stream.gradient_offsets.push_back(buffers[g++].offset);
  }
}

fabric::StreamSchedule Plan::schedule() const {
  fabric::StreamSchedule s{blocks, {}, prefetch, window_elements, gradient_elements};
  s.visits.reserve(visits.size() * waves);
  for (std::int64_t w = 0; w < waves; ++w)
    for (const PlannedVisit& visit : visits) {
      s.visits.push_back(visit.stream);
      if (w + 1 < waves) s.visits.back().gradient_is_last.assign(visit.stream.gradients.size(), false);
    }
  return s;
}

}  // namespace wsc::plan
