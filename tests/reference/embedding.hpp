// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "tests/reference/data.hpp"

#include "wsc/graph/ops/embedding.hpp"
#include "wsc/graph/ops/positions.hpp"

namespace wsc::reference {

inline void forward(const Embedding& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r)
    for (std::int64_t c = 0; c < op.width; ++c) d.value[op.y](r, c) = d.weight[op.table](d.ids[r], c);
}

inline void backward(const Embedding& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r)
    for (std::int64_t c = 0; c < op.width; ++c) d.weight_gradient[op.table](d.ids[r], c) += d.gradient[op.y](r, c);
}

inline double sinusoid(std::int64_t position, std::int64_t column, std::int64_t width) {
  const double angle = position / std::pow(10000.0, 2.0 * (column / 2) / width);
  return column % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

inline void forward(const Positions& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r) {
    for (std::int64_t c = 0; c < op.width; ++c) {
      const std::int32_t p = d.position[r];
      d.value[op.y](r, c) = d.value[op.x](r, c) + (op.table.valid() ? d.weight[op.table](p, c) : sinusoid(p, c, op.width));
    }
  }
}

inline void backward(const Positions& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r) {
    for (std::int64_t c = 0; c < op.width; ++c) {
      d.gradient[op.x](r, c) += d.gradient[op.y](r, c);
      if (op.table.valid()) d.weight_gradient[op.table](d.position[r], c) += d.gradient[op.y](r, c);
    }
  }
}

}  // namespace wsc::reference
