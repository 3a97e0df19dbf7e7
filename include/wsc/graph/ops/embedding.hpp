// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// y[r] = table[token of row r].  y: (rows, C).  table: (V, C).  Backward adds dy[r] into row `token` of the table's gradient.
struct Embedding {
  TensorId y;
  WeightId table;
  std::int64_t width = 0;  // C

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = false;
  std::vector<TensorId> inputs() const { return {}; }
  std::vector<TensorId> outputs() const { return {y}; }
  std::vector<TensorId> kept() const { return {}; }
  std::vector<WeightId> weights() const { return {table}; }
  std::int64_t workspace(const Extent&) const { return 0; }
  Cost cost(const Extent& e) const {
    const double touched = 4.0 * e.rows * width;
    return {.backward_flops = 1.0 * e.rows * width, .forward_bytes = 2 * touched, .backward_bytes = 3 * touched};
  }
};

}  // namespace wsc
