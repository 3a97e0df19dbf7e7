// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <numbers>

#include "tests/reference/data.hpp"

#include "wsc/graph/ops/activation.hpp"
#include "wsc/graph/ops/add.hpp"
#include "wsc/graph/ops/dropout.hpp"

namespace wsc::reference {

inline double activation(Nonlinearity f, double x) {
  switch (f) {
    case Nonlinearity::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Nonlinearity::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Nonlinearity::relu:
      return std::max(x, 0.0);
  }
  return NAN;
}

inline double activation_derivative(Nonlinearity f, double x) {
  switch (f) {
    case Nonlinearity::gelu:
      return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    case Nonlinearity::gelu_tanh: {
      const double a = std::sqrt(2 / std::numbers::pi), t = std::tanh(a * (x + 0.044715 * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * a * (1 + 3 * 0.044715 * x * x);
    }
    case Nonlinearity::relu:
      return x > 0;
  }
  return NAN;
}

inline void forward(const Activation& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r)
    for (std::int64_t c = 0; c < op.width; ++c) {
      d.value[op.y](r, c) = activation(op.function, d.value[op.x](r, c) + d.weight[op.bias](c, 0));
    }
}

inline void backward(const Activation& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r)
    for (std::int64_t c = 0; c < op.width; ++c) {
      const double g = d.gradient[op.y](r, c) * activation_derivative(op.function, d.value[op.x](r, c) + d.weight[op.bias](c, 0));
      d.gradient[op.x](r, c) += g;
      d.weight_gradient[op.bias](c, 0) += g;
    }
}

inline void forward(const Add& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r)
    for (std::int64_t c = 0; c < op.width; ++c) d.value[op.y](r, c) = d.value[op.a](r, c) + d.value[op.b](r, c);
}

inline void backward(const Add& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r) {
    for (std::int64_t c = 0; c < op.width; ++c) {
      d.gradient[op.a](r, c) += d.gradient[op.y](r, c);
      d.gradient[op.b](r, c) += d.gradient[op.y](r, c);
    }
  }
}

inline double dropout_factor(const Dropout& op, const Data& d, std::int64_t r, std::int64_t c) {
  if (!d.training) return 1;
  const double u = d.dropout_key(op.name).uniform(d.sample[r], d.token[r] * op.width + c);
  return u >= op.rate ? 1 / (1 - op.rate) : 0;
}

inline void forward(const Dropout& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r)
    for (std::int64_t c = 0; c < op.width; ++c) d.value[op.y](r, c) = d.value[op.x](r, c) * dropout_factor(op, d, r, c);
}

inline void backward(const Dropout& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r)
    for (std::int64_t c = 0; c < op.width; ++c) d.gradient[op.x](r, c) += d.gradient[op.y](r, c) * dropout_factor(op, d, r, c);
}

}  // namespace wsc::reference
