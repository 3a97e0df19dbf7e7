// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "wsc/plan/cost.hpp"
#include "wsc/plan/plan.hpp"

namespace wsc::plan {

/// Arithmetic per token of a whole training step (forward and backward), in the three conventions of the project.
struct Flops {
  double training = 0;  ///< the published Cerebras-GPT convention (cerebras.md 2.6): 3 (24Ld² + 8LTd + 2Vd) + 4Vd for a GPT
  double model = 0;     ///< 3 (24Ld² + 4LTd + 2Vd) for a GPT
  double executed = 0;  ///< what the kernels do: causal half skipped, recompute counted
};
Flops flops_per_token(const Graph& graph, const Plan& plan);

/// Bytes that a step moves, in the formats of the wire.
struct WireBytes {
  std::int64_t to_each_window = 0;  ///< weights that reach one node (cluster.csx_per_window), however many csx share its window
  std::int64_t from_each_csx = 0;   ///< gradients that leave it
  std::int64_t from_memoryx = 0;    ///< weights that all shards together hand to broadcasts
};
WireBytes wire_bytes(const Plan& plan);

/// Bytes of the largest shard by purpose.
struct ShardBytes {
  std::int64_t weights = 0, gradients = 0, states = 0;
  std::int64_t total() const { return weights + gradients + states; }
};
ShardBytes shard_bytes(const Plan& plan, int state_arrays);

/// A dry run: everything `wsc plan` prints.
struct Summary {
  std::string deck;
  std::int64_t parameters = 0;
  std::int64_t steps = 0, tokens = 0;  ///< of the whole training
  double training_flops = 0;           ///< of the whole training
  Flops per_token;
  ShardBytes shard;
  WireBytes wire;
  Prediction prediction;
};
Summary summarise(const Settings& settings, const Graph& graph, const Plan& plan, int state_arrays);

std::string summary_text(const Summary& summary, const Graph& graph, const Plan& plan);
std::string summary_json(const Summary& summary, const Graph& graph, const Plan& plan);

/// Every parameter with shape, block, initial distribution and decay group.
std::string parameter_table(const Graph& graph);

}  // namespace wsc::plan
