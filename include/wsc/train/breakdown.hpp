// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "wsc/fabric/layout.hpp"
#include "wsc/fabric/streams.hpp"
#include "wsc/plan/cost.hpp"

namespace wsc::train {

struct RankReport;

/// Where the seconds of a pass went on one rank. A rank's parts never overlap.
struct PassSeconds {
  double pass = 0;           ///< all of it, from the order of rank 0 to the report
  double compute = 0;        ///< csx: in the stages
  double data = 0;           ///< csx: until its batch was there
  double agreement = 0;      ///< on the rows that the batch uses: waiting for the batches of other ranks
  fabric::ExposedWait wait;  ///< csx: for the stream
  double optimizer = 0;      ///< memoryx: updates and norms of gradients
};

/// Where the seconds of a step went, as the csx saw it that waited longest. The parts of `total()` are those of that one csx, so they add
/// up to the step.
struct Breakdown {
  double compute = 0, data = 0;
  fabric::ExposedWait wait;
  double optimizer = 0;        ///< largest over the memoryx ranks
  bool optimizer_runs_beside;  ///< true: on ranks of its own, hidden; false (one process): a part of the step
  double other = 0;            ///< of the csx's pass: buffers made and zeroed, transfers posted
  double agreement = 0;        ///< waiting for slower ranks, control messages, the decision

  double total() const { return compute + data + wait.total() + (optimizer_runs_beside ? 0 : optimizer) + other + agreement; }
  Breakdown& operator+=(const Breakdown& o);
};

/// Of a step that took rank 0 `step_s` seconds, from its order to its decision.
Breakdown breakdown(const std::vector<RankReport>& reports, const fabric::Layout& layout, bool streamed, double step_s);

/// What happens between steps and at their side, in seconds since the start.
struct Besides {
  double checkpoints = 0, evaluations = 0;
};

/// The mean over the steps of a run, for its end.
class BreakdownTable {
 public:
  void add(const Breakdown& step, double step_s, double overlap);
  /// For people, beside what was predicted; the first step, which warms up, is left out where there are others.
  std::string text(const Besides& besides, const plan::Prediction& prediction) const;
  double step_s() const;  ///< mean
  int steps() const { return steps_; }

 private:
  int counted() const { return std::max(1, steps_ - 1); }

  int steps_ = 0;
  Breakdown sum_;
  double seconds_ = 0, overlap_ = 0;
};

}  // namespace wsc::train
