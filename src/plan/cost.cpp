// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/cost.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace wsc::plan {
namespace {

StageSeconds stage_seconds(const Graph& graph, const Plan& plan, const Rates& rates, StageId id) {
  const StagePlan& how = plan.stages[id.index];
  const double tiles = static_cast<double>(plan.wave_rows) / static_cast<double>(std::max<std::int64_t>(1, how.tile_rows));
  const Extent tile{how.tile_rows, plan.request.tokens, plan.request.threads};
  const auto seconds = [&](double flops, double bytes) { return tiles * (flops / rates.flops + bytes / rates.memory_bytes); };
  StageSeconds s;
  for (std::size_t i = 0; i < graph[id].ops.size(); ++i) {
    const Cost cost = op_cost(graph[id].ops[i], tile);
    const double forward = seconds(cost.forward_flops, cost.forward_bytes), backward = seconds(cost.backward_flops, cost.backward_bytes);
    s.forward += forward;
    (id == graph.turn() ? s.forward : s.backward) += backward + (how.rerun[i] ? forward : 0);
  }
  return s;
}

/// Rows of each wave as a share of the largest one's.
std::vector<double> wave_shares(const Plan& plan) {
  std::vector<double> shares;
  for (std::int64_t w = 0; w < plan.waves; ++w)
    shares.push_back(static_cast<double>(most_samples(plan, w) * plan.request.tokens) / static_cast<double>(plan.wave_rows));
  return shares;
}

/// One pass played through: when each visit begins, what the wires do meanwhile.
class Playback {
 public:
  Playback(const Plan& plan, const Rates& rates, double update_s_per_element, const std::vector<StageSeconds>& stages)
      : plan_(plan), link_(rates.link_bytes), update_s_per_element_(update_s_per_element), stages_(stages), updated_(plan.blocks.size()) {}

  void run(const std::vector<double>& wave_shares, Prediction& p) {
    const std::size_t visits = plan_.visits.size(), all = visits * static_cast<std::size_t>(plan_.waves);
    for (std::size_t i = 0; i < all; ++i) {
      const PlannedVisit& visit = plan_.visits[i % visits];
      wait_until(arrival(visit, i));
      const auto buffers = static_cast<std::size_t>(plan_.leaving()) + 1;
      if (!visit.stream.gradients.empty() && left_.size() >= buffers) wait_until(left_[left_.size() - buffers]);
      const StageSeconds& s = stages_[visit.stage.index];
      now_ += wave_shares[i / visits] * (visit.direction == Direction::backward ? s.backward : s.forward);
      ended_.push_back(now_);
      if (!visit.stream.gradients.empty()) leave(visit);
    }
    if (!left_.empty()) wait_until(left_.back());
    p.exposed_wait = waited_;
    p.step = now_;
    if (const double moving = moving_s(); moving > 0) p.overlap = std::max(0.0, 1 - waited_ / moving);
  }

 private:
  double wire_s(const std::vector<BlockId>& blocks, Precision format) const {
    double bytes = 0;
    for (const BlockId b : blocks) bytes += static_cast<double>(bytes_of(format) * plan_.blocks[b.index].elements);
    return bytes / link_;
  }

  /// When the blocks of visit i are there.
  double arrival(const PlannedVisit& visit, std::size_t i) {
    const std::size_t ahead = static_cast<std::size_t>(plan_.prefetch) + 1;
    for (const BlockId b : visit.stream.receives) {
      if (updated_[b.index]) continue;
      updated_[b.index] = true;
      update_free_ += update_s_per_element_ * static_cast<double>(plan_.blocks[b.index].elements);
    }
    const double asked = i < ahead ? 0 : ended_[i - ahead], begin = std::max(weights_free_, asked);
    // Updated and sent piece by piece, so neither waits for the whole of the other.
    weights_free_ = std::max(begin + wire_s(visit.stream.receives, plan_.request.wire_weights), update_free_);
    moves_.emplace_back(begin, weights_free_);
    return weights_free_;
  }

  void leave(const PlannedVisit& visit) {
    const double begin = std::max(now_, left_.empty() ? 0 : left_.back());
    left_.push_back(begin + wire_s(visit.stream.gradients, Precision::fp32));
    moves_.emplace_back(begin, left_.back());
  }

  void wait_until(double time) {
    waited_ += std::max(0.0, time - now_);
    now_ = std::max(now_, time);
  }

  double moving_s() {
    std::sort(moves_.begin(), moves_.end());
    double sum = 0, until = 0;
    for (const auto& [begin, end] : moves_) {
      sum += std::max(0.0, end - std::max(begin, until));
      until = std::max(until, end);
    }
    return sum;
  }

  const Plan& plan_;
  double link_, update_s_per_element_;
  const std::vector<StageSeconds>& stages_;
  std::vector<bool> updated_;  // per block
  double now_ = 0, waited_ = 0, weights_free_ = 0, update_free_ = 0;
  std::vector<double> ended_, left_;  // visits; gradients of visits that have some
  std::vector<std::pair<double, double>> moves_;
};

}  // namespace

Prediction predict(const Graph& graph, const Plan& plan) {
  const Rates& rates = plan.request.rates;
  const double state_arrays = plan.request.state_arrays;
  Prediction p;
  for (std::size_t s = 0; s < graph.stages.size(); ++s) p.stages.push_back(stage_seconds(graph, plan, rates, StageId(s)));
  const std::vector<double> waves = wave_shares(plan);
  const double all_waves = std::accumulate(waves.begin(), waves.end(), 0.0);
  for (const StageSeconds& s : p.stages) p.compute += all_waves * (s.forward + s.backward);
  // An update reads weight, gradient and states, writes them and a zero gradient; the norm reads the gradient once more.
  const double shards = plan.request.layout.memoryx, update_s = 4.0 * (2 * (2 + state_arrays)) / rates.memory_bytes / shards;
  double elements = 0;
  for (const Block& b : graph.blocks) elements += static_cast<double>(b.elements);
  p.optimizer = elements * (update_s + 4.0 / rates.memory_bytes / shards);
  if (!plan.request.streamed) {
    p.step = p.compute + p.optimizer;
    return p;
  }
  for (const PlannedVisit& visit : plan.visits) {
    const auto seconds = [&](const std::vector<BlockId>& blocks, Precision format) {
      double bytes = 0;
      for (const BlockId b : blocks) bytes += static_cast<double>(bytes_of(format) * plan.blocks[b.index].elements);
      return static_cast<double>(plan.waves) * bytes / rates.link_bytes;
    };
    p.weights += seconds(visit.stream.receives, plan.request.wire_weights);
    p.gradients += seconds(visit.stream.gradients, Precision::fp32);
  }
  Playback(plan, rates, update_s, p.stages).run(waves, p);
  return p;
}

}  // namespace wsc::plan
