// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// y[r] = x[r] + table[position of row r].  x, y: (rows, C).  table: (T, C), learned; without a table the fixed sinusoids of
/// Vaswani et al. 2017, section 3.5: columns 2i and 2i + 1 hold sin and cos of position / 10000^(2i / C).
struct Positions {
  TensorId x, y;
  WeightId table;          // none = sinusoidal
  std::int64_t width = 0;  // C

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = false;
  std::vector<TensorId> inputs() const { return {x}; }
  std::vector<TensorId> outputs() const { return {y}; }
  std::vector<TensorId> kept() const { return {}; }
  std::vector<WeightId> weights() const { return table.valid() ? std::vector{table} : std::vector<WeightId>{}; }
  std::int64_t workspace(const Extent&) const { return 0; }
  Cost cost(const Extent& e) const {
    const double elements = 1.0 * e.rows * width;
    return {.forward_flops = elements, .backward_flops = elements, .forward_bytes = 12 * elements, .backward_bytes = 16 * elements};
  }
};

}  // namespace wsc
