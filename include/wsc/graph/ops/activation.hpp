// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// gelu: x Φ(x) with the error function (Hendrycks, Gimpel 2016, eq. 1); gelu_tanh: its tanh approximation (eq. 2).
enum class Nonlinearity { gelu, gelu_tanh, relu };

/// y = f(x), element by element.  x, y: (rows, F).  Keeps x.
struct Activation {
  TensorId x, y;
  Nonlinearity function = Nonlinearity::gelu;
  std::int64_t width = 0;  // F

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = false;
  std::vector<TensorId> inputs() const { return {x}; }
  std::vector<TensorId> outputs() const { return {y}; }
  std::vector<TensorId> kept() const { return {x}; }
  std::vector<WeightId> weights() const { return {}; }
  std::int64_t workspace(const Extent&) const { return 0; }
  Cost cost(const Extent& e) const {
    const double elements = 1.0 * e.rows * width;
    return {
        .forward_flops = 10 * elements, .backward_flops = 15 * elements, .forward_bytes = 8 * elements, .backward_bytes = 12 * elements};
  }
};

}  // namespace wsc
