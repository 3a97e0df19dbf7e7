// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// y = a + b, the residual connection.  a, b, y: (rows, C).
struct Add {
  TensorId a, b, y;
  std::int64_t width = 0;  // C

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = false;
  std::vector<TensorId> inputs() const { return {a, b}; }
  std::vector<TensorId> outputs() const { return {y}; }
  std::vector<TensorId> kept() const { return {}; }
  std::vector<WeightId> weights() const { return {}; }
  std::int64_t workspace(const Extent&) const { return 0; }
  Cost cost(const Extent& e) const {
    const double elements = 1.0 * e.rows * width;
    return {.forward_flops = elements, .backward_flops = elements, .forward_bytes = 12 * elements, .backward_bytes = 16 * elements};
  }
};

}  // namespace wsc
