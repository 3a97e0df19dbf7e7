// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/reference/data.hpp"

#include "wsc/graph/ops/cross_entropy.hpp"

namespace wsc::reference {

/// Softmax of the logits of row r.
inline std::vector<double> probabilities(const CrossEntropy& op, Data& d, std::int64_t r) {
  std::vector<double> p(op.vocab, 0.0);
  for (std::int64_t j = 0; j < op.vocab; ++j)
    for (std::int64_t c = 0; c < op.width; ++c) p[j] += d.value[op.x](r, c) * d.weight[op.table](j, c);
  const double most = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& v : p) sum += v = std::exp(v - most);
  for (double& v : p) v /= sum;
  return p;
}

inline void forward(const CrossEntropy& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r) d.row_loss[r] = d.loss_mask[r] ? -std::log(probabilities(op, d, r)[d.labels[r]]) : 0;
}

inline void backward(const CrossEntropy& op, Data& d) {
  for (std::int64_t r = 0; r < d.count; ++r) {
    const std::vector<double> p = probabilities(op, d, r);
    for (std::int64_t j = 0; j < op.vocab; ++j) {
      const double dlogit = d.loss_mask[r] ? (p[j] - (j == d.labels[r])) * d.gradient_scale : 0;
      d.value[op.logits](r, j) = dlogit;
      for (std::int64_t c = 0; c < op.width; ++c) {
        d.gradient[op.x](r, c) += dlogit * d.weight[op.table](j, c);
        d.weight_gradient[op.table](j, c) += dlogit * d.value[op.x](r, c);
      }
    }
  }
}

}  // namespace wsc::reference
