// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wsc/base/clock.hpp"
#include "wsc/checkpoint/run_lock.hpp"
#include "wsc/checkpoint/run_state.hpp"
#include "wsc/optimizer/loss_scale.hpp"
#include "wsc/train/member.hpp"
#include "wsc/train/metrics.hpp"
#include "wsc/train/saves.hpp"

namespace wsc::train {

/// What rank 0 does besides its own role: it opens and closes passes, decides about gradients, keeps metrics and checkpoints.
class Leader {
 public:
  Leader(Member& member, const Settings& settings, const Setup& setup, const RunData& data, checkpoint::RunLock& lock,
         checkpoint::RunState state, double gemm_flops_per_s);

  /// Trains until max_steps, a signal or the time limit.
  ExitCode run();
  /// Waits for the save under way; for the end of a run that failed.
  void complete_save();

 private:
  void step();
  std::optional<std::string> decide(const std::vector<RankReport>& reports, StepMetrics& m);
  void record(const std::vector<RankReport>& reports, StepMetrics& m, double seconds);
  void print_step(const StepMetrics& m);
  void evaluate();
  std::string last_good();  ///< a sentence: which checkpoint there is to go back to; completes a save under way
  void save();
  void advance_save();
  void write_timeline();
  double model_flops(std::int64_t batch) const;  ///< of a step
  std::string breakdown_text() const;
  std::optional<std::string> reason_to_stop() const;
  /// The opening of the next pass; it takes along the decision that is due.
  PassOrder open_order(PassKind kind);
  void hear_signals(const std::vector<RankReport>& reports);
  void take_counters(const std::vector<RankReport>& reports, StepMetrics& m);

  Member& member_;
  const Settings& settings_;
  const Setup& setup_;
  const RunData& data_;
  checkpoint::RunLock& lock_;
  checkpoint::RunState state_;
  optimizer::LossScale loss_scale_;
  double gemm_flops_per_s_;  // of all csx
  CsvFile metrics_, eval_csv_;
  Saves saves_;

  std::optional<memoryx::UpdateDecision> undelivered_;  // about the last step, travels with the next opening
  std::vector<RankReport> last_reports_;
  std::int64_t evaluated_step_ = -1;
  int stop_signal_ = 0;
  Stopwatch run_watch_, log_watch_;
  std::int64_t logged_tokens_ = 0, logged_samples_ = 0, run_samples_ = 0;
  double rate_ = 0;  // smoothed samples per second
  double moving_s_before_ = 0;
  BreakdownTable table_;
  Besides besides_;
  double logged_checkpoints_s_ = 0;
  std::int64_t weight_bytes_before_ = 0, gradient_bytes_before_ = 0;
};

}  // namespace wsc::train
