// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/summary.hpp"

#include <algorithm>

namespace wsc::plan {
namespace {

/// FLOPs of one token, forward, that the published conventions count: products of matrices only.
struct Published {
  const Graph& graph;
  double tokens;  // T
  double matrices = 0, attention = 0, head = 0, embedding = 0;

  void operator()(const Linear& o) { matrices += 2.0 * static_cast<double>(o.in) * static_cast<double>(o.out); }
  void operator()(const Attention& o) { attention += 4.0 * tokens * static_cast<double>(o.width); }
  void operator()(const CrossEntropy& o) { head += 2.0 * static_cast<double>(o.width) * static_cast<double>(o.vocab); }
  void operator()(const Embedding& o) { embedding += 2.0 * static_cast<double>(o.width) * static_cast<double>(graph[o.table].rows); }
  template <class Other>
  void operator()(const Other&) {}
};

}  // namespace

Flops flops_per_token(const Graph& graph, const Plan& plan) {
  const double T = static_cast<double>(plan.request.tokens);
  Published p{graph, T};
  Flops flops;
  for (std::size_t s = 0; s < graph.stages.size(); ++s)
    for (std::size_t i = 0; i < graph.stages[s].ops.size(); ++i) {
      const Op& op = graph.stages[s].ops[i];
      std::visit(p, op);
      const Cost cost = op_cost(op, {plan.request.tokens, plan.request.tokens, 1});
      flops.executed += (cost.forward_flops * (plan.stages[s].rerun[i] ? 2 : 1) + cost.backward_flops) / T;
    }
  flops.model = 3 * (p.matrices + p.attention + p.head);
  // Counts attention twice (softmax · V), and the embedding as a product with one-hot rows, forward and weight gradient.
  flops.training = 3 * (p.matrices + 2 * p.attention + p.head) + 2 * p.embedding;
  return flops;
}

WireBytes wire_bytes(const Plan& plan) {
  WireBytes wire;
  if (!plan.request.streamed) return wire;
  for (const PlannedVisit& visit : plan.visits) {
    for (const BlockId b : visit.stream.receives)
      wire.to_each_window += bytes_of(plan.request.wire_weights) * plan.blocks[b.index].elements * plan.waves;
    for (const BlockId b : visit.stream.gradients) wire.from_each_csx += 4 * plan.blocks[b.index].elements * plan.waves;
  }
  wire.from_memoryx = wire.to_each_window;
  return wire;
}

ShardBytes shard_bytes(const Plan& plan, int state_arrays) {
  std::vector<int> slots(plan.blocks.size(), 0);
  for (const PlannedVisit& visit : plan.visits)
    for (const BlockId b : visit.stream.gradients) ++slots[b.index];
  const std::size_t own = plan.blocks.size() - plan.row_blocks.size();  // weights of row blocks are copies
  std::int64_t largest = 0, sums = 0, row_weights = 0;
  for (int m = 0; m < plan.request.layout.memoryx; ++m) {
    std::int64_t elements = 0, gradients = 0, rows = 0;
    for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
      const std::int64_t part = plan.blocks[b].bounds[m + 1] - plan.blocks[b].bounds[m];
      (b < own ? elements : rows) += part;
      gradients += part * (plan.request.ordered && slots[b] > 0 ? fabric::gradient_copies(plan.waves, slots[b]) : 1);
    }
    largest = std::max(largest, elements);
    row_weights = std::max(row_weights, rows);
    sums = std::max(sums, gradients);
  }
  const std::int64_t wire = bytes_of(plan.request.wire_weights);  // row blocks are in its format, and all else where it is not the masters'
  return {4 * largest + wire * ((wire < 4 ? largest : 0) + row_weights), 4 * sums, 4 * largest * state_arrays};
}

Summary summarise(const Settings& settings, const Graph& graph, const Plan& plan, int state_arrays) {
  Summary s;
  s.parameters = graph.parameters();
  s.steps = settings.runconfig.max_steps;
  std::int64_t samples = 0, done = 0;
  for (const BatchScheduleSettings& piece : settings.train_input.batch_schedule) {
    const std::int64_t until = std::min(piece.until_step, s.steps);
    samples += std::max<std::int64_t>(0, until - done) * piece.batch_size;
    done = std::max(done, until);
  }
  if (done < s.steps) samples += (s.steps - done) * settings.batch_size(done);
  s.tokens = samples * plan.request.tokens;
  s.per_token = flops_per_token(graph, plan);
  s.training_flops = s.per_token.training * static_cast<double>(s.tokens);
  s.shard = shard_bytes(plan, state_arrays);
  s.wire = wire_bytes(plan);
  s.prediction = predict(graph, plan);
  return s;
}

}  // namespace wsc::plan
