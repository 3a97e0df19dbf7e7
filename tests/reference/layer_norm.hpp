// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "tests/reference/data.hpp"

#include "wsc/graph/ops/layer_norm.hpp"

namespace wsc::reference {

inline void forward(const LayerNorm& op, Data& d) {
  const Array& x = d.value[op.x];
  for (std::int64_t r = 0; r < d.count; ++r) {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < op.width; ++c) mean += x(r, c) / op.width;
    for (std::int64_t c = 0; c < op.width; ++c) variance += (x(r, c) - mean) * (x(r, c) - mean) / op.width;
    const double inverse_sd = 1 / std::sqrt(variance + op.epsilon);
    d.value[op.mean](r, 0) = mean;
    d.value[op.inverse_sd](r, 0) = inverse_sd;
    for (std::int64_t c = 0; c < op.width; ++c)
      d.value[op.y](r, c) = (x(r, c) - mean) * inverse_sd * d.weight[op.gain](c, 0) + d.weight[op.bias](c, 0);
  }
}

/// From the derivative of every output with respect to every input: ∂n_c/∂x_e = (δ_ce − 1/C − n_c n_e / C) / sd.
inline void backward(const LayerNorm& op, Data& d) {
  const Array &x = d.value[op.x], &dy = d.gradient[op.y];
  for (std::int64_t r = 0; r < d.count; ++r) {
    const double mean = d.value[op.mean](r, 0), inverse_sd = d.value[op.inverse_sd](r, 0);
    for (std::int64_t c = 0; c < op.width; ++c) {
      const double n = (x(r, c) - mean) * inverse_sd;
      d.weight_gradient[op.gain](c, 0) += dy(r, c) * n;
      d.weight_gradient[op.bias](c, 0) += dy(r, c);
      for (std::int64_t e = 0; e < op.width; ++e) {
        const double n_e = (x(r, e) - mean) * inverse_sd;
        const double jacobian = ((c == e) - 1.0 / op.width - n * n_e / op.width) * inverse_sd;
        d.gradient[op.x](r, e) += dy(r, c) * d.weight[op.gain](c, 0) * jacobian;
      }
    }
  }
}

}  // namespace wsc::reference
