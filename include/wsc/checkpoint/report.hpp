// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// What `wsc checkpoint info` and `wsc checkpoint diff` print.
namespace wsc::checkpoint {

/// Step, writer, settings in short, and a table of all parameters with shape, mean, standard deviation, least and greatest value.
/// DataError as for read_run_state().
std::string info(const std::filesystem::path& path);

/// One array in two checkpoints a and b.
struct ArrayDifference {
  std::string dataset;            ///< "model/…" or "optimizer/…"
  bool in_a = true, in_b = true;  ///< false: missing there
  bool same_shape = true;
  bool bitwise_equal = false;
  double largest = 0;        ///< max |a − b|
  double relative_norm = 0;  ///< ‖a − b‖₂ / ‖b‖₂; 0 where both are zero
};

struct DiffReport {
  std::vector<ArrayDifference> arrays;  ///< in the order of their names
  std::vector<std::string> run_state;   ///< "step: 20 | 30", one per field that differs
  bool model_equal = false;             ///< all weights bitwise
  bool equal = false;                   ///< weights, optimizer state and counters bitwise (layout, writer and deck may differ)
  double model_relative_norm = 0;       ///< of the whole weight vector; infinite where a weight is missing or of another shape
  std::string text;                     ///< for people
};

DiffReport diff(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace wsc::checkpoint
