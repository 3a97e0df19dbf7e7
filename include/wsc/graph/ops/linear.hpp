// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// y = residual + x · weightᵀ + bias.  x: (rows, in).  y, residual: (rows, out).  weight: (out, in).  bias: (out). Residual and bias are
/// optional; the product is added to them before anything is rounded.
/// dx = dy · weight, dweight += dyᵀ · x, dbias += column sums of dy, dresidual = dy.  Keeps x.
struct Linear {
  TensorId x, y;
  WeightId weight, bias;  // bias may be none
  std::int64_t in = 0, out = 0;
  TensorId residual = {};  // may be none; not x

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = true;
  std::vector<TensorId> inputs() const { return residual.valid() ? std::vector{x, residual} : std::vector{x}; }
  std::vector<TensorId> outputs() const { return {y}; }
  std::vector<TensorId> kept() const { return {x}; }
  std::vector<WeightId> weights() const { return bias.valid() ? std::vector{weight, bias} : std::vector{weight}; }
  std::int64_t workspace(const Extent& e) const {
    const std::int64_t sums = bias.valid() ? column_sum_workspace(e.rows, out) : 0;
    return e.rounded ? std::max(sums, product_workspace(e.rows, in, out)) : sums;
  }
  Cost cost(const Extent& e) const {
    const double products = 2.0 * e.rows * in * out, touched = 4.0 * (1.0 * e.rows * (in + out) + 1.0 * in * out);
    return {.forward_flops = products, .backward_flops = 2 * products, .forward_bytes = touched, .backward_bytes = 3 * touched};
  }
};

}  // namespace wsc
