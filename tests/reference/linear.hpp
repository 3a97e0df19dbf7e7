// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/reference/data.hpp"

#include "wsc/graph/ops/linear.hpp"

namespace wsc::reference {

inline void forward(const Linear& op, Data& d) {
  const Array &x = d.value[op.x], &w = d.weight[op.weight];
  for (std::int64_t r = 0; r < d.count; ++r) {
    for (std::int64_t o = 0; o < op.out; ++o) {
      double sum = op.bias.valid() ? d.weight[op.bias](o, 0) : 0;
      if (op.residual.valid()) sum += d.value[op.residual](r, o);
      for (std::int64_t i = 0; i < op.in; ++i) sum += x(r, i) * w(o, i);
      d.value[op.y](r, o) = sum;
    }
  }
}

inline void backward(const Linear& op, Data& d) {
  const Array &x = d.value[op.x], &w = d.weight[op.weight], &dy = d.gradient[op.y];
  for (std::int64_t r = 0; r < d.count; ++r) {
    for (std::int64_t o = 0; o < op.out; ++o) {
      for (std::int64_t i = 0; i < op.in; ++i) {
        d.gradient[op.x](r, i) += dy(r, o) * w(o, i);
        d.weight_gradient[op.weight](o, i) += dy(r, o) * x(r, i);
      }
      if (op.bias.valid()) d.weight_gradient[op.bias](o, 0) += dy(r, o);
      if (op.residual.valid()) d.gradient[op.residual](r, o) += dy(r, o);
    }
  }
}

}  // namespace wsc::reference
