// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "wsc/train/pass.hpp"

namespace wsc::train {

/// One logged step: a row of metrics.csv.
struct StepMetrics {
  std::int64_t step = 0;  ///< steps done, this one included
  double loss = 0;        ///< mean over the valid tokens of the global batch
  double grad_norm = 0;   ///< of the global gradient, before clipping: the number that the clip used
  double learning_rate = 0;
  double loss_scale = 1;
  double tokens_per_s = 0;    ///< B·T / wall seconds since the row before, waits and pauses included
  double exposed_wait_s = 0;  ///< largest over the csx: compute blocked on the stream
  Breakdown parts;            ///< of step_s
  double utilisation = 0;     ///< model FLOPs of step_s / those that all csx make in it in matrix products alone, as measured at the start
  double checkpoint_s = 0;    ///< that rank 0 spent in saves since the row before
  double step_s = 0;          ///< seconds of this step
  double overlap = 0;         ///< 1 − exposed wait / seconds that bytes were moving; 1 where nothing moved
  std::int64_t batch = 0, valid_tokens = 0;
  bool skipped = false;
  bool overflow = false;                                    ///< the gradient is not finite
  std::int64_t weight_bytes = 0;                            ///< that reached the weight windows in this step, summed over them
  std::int64_t gradient_bytes = 0;                          ///< that the csx sent in this step, summed over them
  std::int64_t csx_peak_bytes = 0, memoryx_peak_bytes = 0;  ///< largest resident size so far, over the ranks of the role
};

/// A CSV file of a run: rows past the step that a resumed run starts from are dropped. Every row is flushed.
class CsvFile {
 public:
  /// Keeps rows whose first column is ≤ `last_step`, rewrites the file with this header. Rows of an older header, which had fewer columns
  /// at its end, are filled up with empty ones.
  CsvFile(const std::filesystem::path& path, const std::string& header, std::int64_t last_step);
  void add(const std::string& row);

 private:
  std::filesystem::path path_;
  std::ofstream out_;
};

std::string metrics_header();
std::string metrics_row(const StepMetrics& m);

/// Table of what every rank moved and held, for the end of a run.
std::string rank_table(const std::vector<RankReport>& reports, const fabric::Layout& layout, bool one_process);

}  // namespace wsc::train
