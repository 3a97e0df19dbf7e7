// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// y = x · weightᵀ + bias.  x: (rows, in).  y: (rows, out).  weight: (out, in).  bias: (out), optional.
/// dx = dy · weight, dweight += dyᵀ · x, dbias += column sums of dy.  Keeps x.
struct Linear {
  TensorId x, y;
  WeightId weight, bias;  // bias may be none
  std::int64_t in = 0, out = 0;

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = true;
  std::vector<TensorId> inputs() const { return {x}; }
  std::vector<TensorId> outputs() const { return {y}; }
  std::vector<TensorId> kept() const { return {x}; }
  std::vector<WeightId> weights() const { return bias.valid() ? std::vector{weight, bias} : std::vector{weight}; }
  std::int64_t workspace(const Extent&) const { return 0; }
  Cost cost(const Extent& e) const {
    const double products = 2.0 * e.rows * in * out, touched = 4.0 * (1.0 * e.rows * (in + out) + 1.0 * in * out);
    return {.forward_flops = products, .backward_flops = 2 * products, .forward_bytes = touched, .backward_bytes = 3 * touched};
  }
};

}  // namespace wsc
