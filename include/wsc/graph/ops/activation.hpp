// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// gelu: x Φ(x) with the error function (Hendrycks, Gimpel 2016, eq. 1); gelu_tanh: its tanh approximation (eq. 2).
enum class Nonlinearity { gelu, gelu_tanh, relu };

/// y = f(x + bias), element by element: the bias of the linear op before it costs no pass of its own.  x, y: (rows, F).  bias: (F).
/// dx = dy f'(x + bias), dbias += column sums of dx.  Keeps x.
struct Activation {
  TensorId x, y;
  WeightId bias;
  Nonlinearity function = Nonlinearity::gelu;
  std::int64_t width = 0;  // F

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = true;
  std::vector<TensorId> inputs() const { return {x}; }
  std::vector<TensorId> outputs() const { return {y}; }
  std::vector<TensorId> kept() const { return {x}; }
  std::vector<WeightId> weights() const { return {bias}; }
  std::int64_t workspace(const Extent& e) const { return column_sum_workspace(e.rows, width); }
  Cost cost(const Extent& e) const {
    const double elements = 1.0 * e.rows * width;
    return {
        .forward_flops = 10 * elements, .backward_flops = 15 * elements, .forward_bytes = 8 * elements, .backward_bytes = 12 * elements};
  }
};

}  // namespace wsc
