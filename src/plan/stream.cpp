// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

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
  for (const RowBlock& rows : plan.row_blocks)
    for (PlannedVisit& v : visits) {
      if (!reads_rows_only(graph, v.stage, rows.table)) continue;
      std::replace(v.stream.receives.begin(), v.stream.receives.end(), graph[rows.table].block, rows.id);
      std::replace(v.stream.gradients.begin(), v.stream.gradients.end(), graph[rows.table].block, rows.id);
    }
  mark_last_contributions(visits, plan.blocks.size());
  return visits;
}

namespace {

/// The leaves of a csx in a wave are added up as by a binary counter: so many sums exist at once beside the first one.
void place_leaf_sums(Plan& plan) {
  const std::int64_t leaves = plan.leaves / (plan.waves * plan.request.layout.csx);
  for (std::int64_t k = 0; k < leaves; ++k) plan.leaf_sums = std::max(plan.leaf_sums, std::popcount(static_cast<std::uint64_t>(k)));
  for (const PlannedVisit& visit : plan.visits) {
    std::int64_t elements = 0;
    for (const BlockId b : visit.stream.gradients) elements += aligned(plan.blocks[b.index].elements);
    plan.leaf_sum_elements = std::max(plan.leaf_sum_elements, elements);
  }
  plan.leaf_sum_place = plan.arena_words;
  plan.arena_words += plan.leaf_sums * plan.leaf_sum_elements;
}

/// Where the contributions of a wave land: those of one block are its slots, in the order of the visits.
void set_landings(fabric::StreamSchedule& s, std::int64_t wave, std::int64_t waves) {
  std::vector<int> slots(s.blocks.size(), 0);
  const std::size_t per_wave = s.visits.size() / waves;
  for (std::size_t v = wave * per_wave; v < (wave + 1) * per_wave; ++v)
    for (const BlockId b : s.visits[v].gradients) s.visits[v].landings.push_back(fabric::landing(wave, waves, slots[b.index]++));
}

std::int64_t compute_copy_elements(const Plan& plan) {
  if (plan.request.wire_weights == plan.request.compute) return 0;
  std::int64_t most = 0;
  for (const PlannedVisit& visit : plan.visits) {
    std::int64_t elements = 0;
    for (const BlockId b : visit.stream.receives) elements += aligned(plan.blocks[b.index].elements, plan.request.compute);
    most = std::max(most, elements);
  }
  return most;
}

}  // namespace

void place_blocks(Plan& plan) {
  std::vector<CyclicItem> window, buffers;
  int senders = 0;
  for (std::size_t v = 0; v < plan.visits.size(); ++v) {
    for (const BlockId b : plan.visits[v].stream.receives)
      window.push_back({static_cast<int>(v), aligned(plan.blocks[b.index].elements, plan.request.wire_weights), -1});
    for (const BlockId b : plan.visits[v].stream.gradients) buffers.push_back({senders, plan.blocks[b.index].elements, -1});
    if (!plan.visits[v].stream.gradients.empty()) ++senders;
  }
  plan.compute_copy_elements = compute_copy_elements(plan);
  plan.window_elements = pack_cyclic(window, static_cast<int>(plan.visits.size()), plan.prefetch);
  plan.gradient_elements = senders > 0 ? pack_cyclic(buffers, senders, plan.leaving()) : 0;
  if (plan.request.ordered && senders > 0) place_leaf_sums(plan);
  std::size_t w = 0, g = 0;
  for (PlannedVisit& visit : plan.visits) {
    visit.stream.window_offsets.clear();
    visit.stream.gradient_offsets.clear();
    for (std::size_t i = 0; i < visit.stream.receives.size(); ++i) visit.stream.window_offsets.push_back(window[w++].offset);
    for (std::size_t i = 0; i < visit.stream.gradients.size(); ++i) visit.stream.gradient_offsets.push_back(buffers[g++].offset);
  }
}

fabric::StreamSchedule Plan::schedule() const {
  fabric::StreamSchedule s{blocks, {}, prefetch, window_elements, gradient_elements, request.wire_weights};
  s.visits.reserve(visits.size() * waves);
  for (std::int64_t w = 0; w < waves; ++w)
    for (const PlannedVisit& visit : visits) {
      s.visits.push_back(visit.stream);
      if (w + 1 < waves) s.visits.back().gradient_is_last.assign(visit.stream.gradients.size(), false);
    }
  for (std::int64_t w = 0; request.ordered && w < waves; ++w) set_landings(s, w, waves);
  return s;
}

}  // namespace wsc::plan
