// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "wsc/config/settings.hpp"
#include "wsc/plan/plan.hpp"

namespace wsc::train {

/// A plan and the stream of a whole pass that follows from it.
struct PlannedPass {
  plan::Plan plan;
  fabric::StreamSchedule schedule;
};

/// What a run is laid out for.
struct Setup {
  fabric::Layout layout;
  bool streamed = false;         ///< false on the null fabric
  int threads = 1;               ///< of a csx
  std::int64_t tokens = 0;       ///< T of training, 0 = the run does not train
  std::int64_t eval_tokens = 0;  ///< T of evaluation, 0 = it does not evaluate
};

/// The plans of a run, all made before it starts: one per batch size of the schedule, one for evaluation. The same on every rank.
class Plans {
 public:
  /// Throws SettingsError where a plan does not fit csx.memory: says what is needed, what there is, and what would help.
  Plans(const Graph& graph, const Settings& settings, const Setup& setup);

  const PlannedPass& train(std::int64_t batch) const { return train_.at(batch); }
  const PlannedPass& evaluate() const { return evaluate_.front(); }
  const std::map<std::int64_t, PlannedPass>& all_train() const { return train_; }

 private:
  std::map<std::int64_t, PlannedPass> train_;  // by B
  std::vector<PlannedPass> evaluate_;          // none or one
};

/// Batch sizes that training meets from global step `first` on, in order of appearance.
std::vector<std::int64_t> batch_sizes(const Settings& settings, std::int64_t first);

}  // namespace wsc::train
