// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// y = (x − mean) / √(var + ε) · gain + bias, over the last dimension (Ba, Kiros, Hinton 2016, eq. 4).
/// x, y: (rows, C).  gain, bias: (C).  Keeps x, mean and 1/√(var + ε) of every row.
struct LayerNorm {
  TensorId x, y;
  TensorId mean, inverse_sd;  // (rows, 1), kept for backward
  WeightId gain, bias;
  std::int64_t width = 0;  // C
  double epsilon = 1e-5;   // added to the variance

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = true;
  std::vector<TensorId> inputs() const { return {x}; }
  std::vector<TensorId> outputs() const { return {y, mean, inverse_sd}; }
  std::vector<TensorId> kept() const { return {x, mean, inverse_sd}; }
  std::vector<WeightId> weights() const { return {gain, bias}; }
  std::int64_t workspace(const Extent& e) const { return 2 * column_sum_workspace(e.rows, width); }
  Cost cost(const Extent& e) const {
    const double elements = 1.0 * e.rows * width;
    return {.forward_flops = 8 * elements, .backward_flops = 14 * elements, .forward_bytes = 8 * elements, .backward_bytes = 16 * elements};
  }
};

}  // namespace wsc
