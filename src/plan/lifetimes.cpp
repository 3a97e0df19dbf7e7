// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "lifetimes.hpp"

#include <algorithm>
#include <map>

#include "wsc/base/error.hpp"
#include "wsc/plan/arena.hpp"

namespace wsc::plan {
namespace {

bool contains(const std::vector<TensorId>& list, TensorId t) { return std::find(list.begin(), list.end(), t) != list.end(); }

/// First and last visit of a wave that use something.
struct Use {
  int first = -1, last = -1;
  void at(int visit) {
    if (first < 0) first = visit;
    last = std::max(last, visit);
  }
};

/// Instants within a visit: forward ops 0 … n − 1, then backward of op i at 2n − 1 − i.
struct Instants {
  int ops;
  int forward(int op) const { return op; }
  int backward(int op) const { return 2 * ops - 1 - op; }
};

/// Decides for every tensor whether value and gradient are wave arrays, and collects their uses in visits.
class Lifetimes {
 public:
  Lifetimes(const Graph& graph, Plan& plan) : graph_(graph), plan_(plan), value_(graph.tensors.size()), gradient_(graph.tensors.size()) {}

  void classify() {
    plan_.tensors.assign(graph_.tensors.size(), {});
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      const bool crosses = !graph_.tensors[t].readers.empty();
      plan_.tensors[t].wave = crosses;
      plan_.tensors[t].gradient_wave = crosses;
    }
    if (plan_.request.purpose == Purpose::train)
      for (std::size_t s = 0; s + 1 < graph_.stages.size(); ++s)
        if (!plan_.stages[s].recompute)
          for (const Op& op : graph_.stages[s].ops)
            for (const TensorId t : op_kept(op)) plan_.tensors[t.index].wave = true;
  }

  void collect_uses() {
    for (std::size_t v = 0; v < plan_.visits.size(); ++v) {
      const PlannedVisit& visit = plan_.visits[v];
      const Stage& stage = graph_[visit.stage];
      const bool backward = visit.direction != Direction::forward, forward = visit.direction != Direction::backward;
      for (std::size_t i = 0; i < stage.ops.size(); ++i) {
        const Op& op = stage.ops[i];
        if (forward || plan_.stages[visit.stage.index].rerun[i]) {
          for (const TensorId t : op_inputs(op)) value_[t.index].at(static_cast<int>(v));
          for (const TensorId t : op_outputs(op)) value_[t.index].at(static_cast<int>(v));
        }
        if (backward && plan_.request.purpose == Purpose::train) {
          for (const TensorId t : op_kept(op)) value_[t.index].at(static_cast<int>(v));
          for (const TensorId t : op_inputs(op)) gradient_[t.index].at(static_cast<int>(v));
          for (const TensorId t : op_differentiated(op)) gradient_[t.index].at(static_cast<int>(v));
        }
      }
    }
  }

  /// Returns the words of the region of wave arrays.
  std::int64_t place_wave_arrays() {
    std::vector<Interval> intervals;
    std::vector<Place*> results;
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      const std::int64_t size = words(graph_.tensors[t], plan_.wave_rows, plan_.request.compute);
      TensorPlan& tensor = plan_.tensors[t];
      if (tensor.wave && value_[t].first >= 0) {
        intervals.push_back({value_[t].first, value_[t].last, size});
        results.push_back(&tensor.forward);
      }
      if (tensor.gradient_wave && gradient_[t].first >= 0) {
        intervals.push_back({gradient_[t].first, gradient_[t].last, size});
        results.push_back(&tensor.gradient);
      }
    }
    const std::int64_t region = pack(intervals);
    for (std::size_t i = 0; i < results.size(); ++i) *results[i] = intervals[i].offset;
    for (TensorPlan& tensor : plan_.tensors)
      if (tensor.wave) tensor.backward = tensor.forward;
    return region;
  }

  /// Places what lives for one tile of a visit behind `base`; returns the words it needs.
  std::int64_t place_tile_arrays(const PlannedVisit& visit, std::int64_t base) {
    const Stage& stage = graph_[visit.stage];
    const StagePlan& how = plan_.stages[visit.stage.index];
    const Instants at{static_cast<int>(stage.ops.size())};
    const bool forward = visit.direction != Direction::backward;
    const bool backward = visit.direction != Direction::forward && plan_.request.purpose == Purpose::train;
    std::map<TensorId, Use> values, gradients;
    for (int i = 0; i < at.ops; ++i) {
      const Op& op = stage.ops[i];
      if (forward || how.rerun[i]) {
        for (const TensorId t : op_inputs(op)) values[t].at(at.forward(i));
        for (const TensorId t : op_outputs(op)) values[t].at(at.forward(i));
      }
    }
    for (int i = at.ops - 1; backward && i >= 0; --i) {
      const Op& op = stage.ops[i];
      for (const TensorId t : op_kept(op)) values[t].at(at.backward(i));
      for (const TensorId t : op_inputs(op)) gradients[t].at(at.backward(i));
      for (const TensorId t : op_differentiated(op)) gradients[t].at(at.backward(i));
    }
    std::vector<Interval> intervals;
    std::vector<Place*> results;
    const auto add = [&](TensorId t, const Use& use, Place& result) {
      intervals.push_back({use.first, use.last, words(graph_[t], how.tile_rows, plan_.request.compute)});
      results.push_back(&result);
    };
    for (const auto& [t, use] : values) {
      TensorPlan& tensor = plan_.tensors[t.index];
      if (!tensor.wave) add(t, use, visit.direction == Direction::backward ? tensor.backward : tensor.forward);
    }
    for (const auto& [t, use] : gradients) {
      TensorPlan& tensor = plan_.tensors[t.index];
      if (!tensor.gradient_wave) add(t, use, tensor.gradient);
    }
    const std::int64_t region = pack(intervals);
    for (std::size_t i = 0; i < results.size(); ++i) *results[i] = base + intervals[i].offset;
    if (visit.direction == Direction::turn)
      for (const auto& [t, use] : values)
        if (!plan_.tensors[t.index].wave) plan_.tensors[t.index].backward = plan_.tensors[t.index].forward;
    return region;
  }

 private:
  const Graph& graph_;
  Plan& plan_;
  std::vector<Use> value_, gradient_;
};

std::int64_t workspace_elements(const Graph& graph, const Plan& plan) {
  std::int64_t most = 0;
  const Request& r = plan.request;
  for (std::size_t s = 0; s < graph.stages.size(); ++s)
    for (const Op& op : graph.stages[s].ops)
      most = std::max(most, op_workspace(op, {plan.stages[s].tile_rows, r.tokens, r.threads, r.compute != Precision::fp32}));
  return most;
}

/// The last reader in forward order comes first in backward: it writes, the others add.
void find_overwrites(const Graph& graph, Plan& plan) {
  std::vector<bool> seen(graph.tensors.size(), false);
  plan.overwrites.assign(graph.stages.size(), {});
  for (std::size_t s = graph.stages.size(); s-- > 0;) {
    const auto& ops = graph.stages[s].ops;
    plan.overwrites[s].assign(ops.size(), {});
    for (std::size_t i = ops.size(); i-- > 0;)
      for (const TensorId t : op_inputs(ops[i])) {
        plan.overwrites[s][i].push_back(!seen[t.index]);
        seen[t.index] = true;
      }
  }
}

}  // namespace

std::vector<bool> ops_to_rerun(const Graph& graph, StageId id) {
  const Stage& stage = graph[id];
  std::vector<TensorId> needed;
  for (const Op& op : stage.ops)
    for (const TensorId t : op_kept(op)) needed.push_back(t);
  std::vector<bool> rerun(stage.ops.size(), false);
  for (std::size_t i = stage.ops.size(); i-- > 0;) {
    for (const TensorId t : op_outputs(stage.ops[i]))
      // What crosses to other stages is a wave array and still there.
      if (contains(needed, t) && graph[t].readers.empty()) rerun[i] = true;
    if (rerun[i])
      for (const TensorId t : op_inputs(stage.ops[i])) needed.push_back(t);
  }
  return rerun;
}

std::int64_t words(const Tensor& tensor, std::int64_t rows, Precision compute) {
  const std::int64_t bytes = bytes_of(tensor.dtype == Dtype::fp32 ? Precision::fp32 : compute);
  return (rows * tensor.width * bytes + 3) / 4;
}

void place_tensors(const Graph& graph, Plan& plan) {
  Lifetimes lifetimes(graph, plan);
  lifetimes.classify();
  lifetimes.collect_uses();
  const std::int64_t wave_region = lifetimes.place_wave_arrays();
  std::int64_t tile_region = 0;
  for (const PlannedVisit& visit : plan.visits) tile_region = std::max(tile_region, lifetimes.place_tile_arrays(visit, wave_region));
  find_overwrites(graph, plan);
  plan.workspace_elements = aligned(workspace_elements(graph, plan));
  plan.workspace = wave_region + tile_region;
  plan.arena_words = plan.workspace + plan.workspace_elements;
  plan.bytes.activations = 4 * wave_region;
  plan.bytes.scratch = 4 * (tile_region + plan.workspace_elements);
}

}  // namespace wsc::plan
