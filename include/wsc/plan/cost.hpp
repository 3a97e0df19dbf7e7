// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/plan/plan.hpp"

namespace wsc::plan {

/// Seconds of the visits to one stage in the largest wave, on the csx that has most of it. The turn is all forward.
struct StageSeconds {
  double forward = 0, backward = 0;
};

/// A step as the plan and the rates let expect it.
struct Prediction {
  std::vector<StageSeconds> stages;
  double compute = 0;                 ///< of the csx that has most
  double optimizer = 0;               ///< of the largest shard: updates and norms
  double weights = 0, gradients = 0;  ///< on the wire
  double exposed_wait = 0;
  double overlap = 1;  ///< as in metrics.csv: 1 − exposed wait / seconds in which bytes moved
  double step = 0;
};

/// Compute: FLOPs / rate + bytes / memory bandwidth, op by op. Streamed, the pass is played through: a block is updated, then on the wire
/// once `prefetch` visits are left before its own, one at a time; gradients leave one at a time, and a visit waits for the buffer that
/// it takes over.
Prediction predict(const Graph& graph, const Plan& plan);

}  // namespace wsc::plan
