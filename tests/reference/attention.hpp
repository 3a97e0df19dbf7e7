// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/data.hpp"

#include "wsc/graph/ops/attention.hpp"

namespace wsc::reference {

/// One query's view of its sample: probabilities, dropout factors and log sum; row of token j is first + j.
struct Query {
  std::int64_t first = 0;
  std::vector<double> p, factor;  // (T)
  double log_sum = 0;
};

inline bool sees(const Data& d, std::int64_t first, std::int64_t i, std::int64_t j) {
  return j <= i && (d.span.empty() || i - j <= d.span[first + j]);
}

inline Query attend(const Attention& op, Data& d, std::int64_t r, std::int64_t h) {
  const std::int64_t T = d.tokens, D = op.width / op.heads, i = d.token[r], first = r - i;
  const Array& qkv = d.value[op.qkv];
  Query out{first, std::vector<double>(T, 0.0), std::vector<double>(T, 1.0)};
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t j = 0; j < T; ++j) {
    if (!sees(d, first, i, j)) continue;
    for (std::int64_t c = 0; c < D; ++c) out.p[j] += qkv(r, h * D + c) * qkv(first + j, op.width + h * D + c) / std::sqrt(double(D));
    most = std::max(most, out.p[j]);
  }
  for (std::int64_t j = 0; j < T; ++j) sum += out.p[j] = sees(d, first, i, j) ? std::exp(out.p[j] - most) : 0;
  for (std::int64_t j = 0; j < T; ++j) {
    if (sum > 0) out.p[j] /= sum;
    if (d.training && op.dropout_rate > 0) {
      const double u = d.dropout_key(op.name).uniform(d.sample[r], (h * T + i) * T + j);
      out.factor[j] = u >= op.dropout_rate ? 1 / (1 - op.dropout_rate) : 0;
    }
  }
  out.log_sum = sum > 0 ? most + std::log(sum) : std::numeric_limits<double>::infinity();
  return out;
}

inline void forward(const Attention& op, Data& d) {
  const std::int64_t D = op.width / op.heads;
  for (std::int64_t r = 0; r < d.count; ++r) {
    for (std::int64_t h = 0; h < op.heads; ++h) {
      const Query query = attend(op, d, r, h);
      d.value[op.log_sum](r, h) = query.log_sum;
      for (std::int64_t c = 0; c < D; ++c) {
        double sum = 0;
        for (std::int64_t j = 0; j < d.tokens; ++j)
          sum += query.p[j] * query.factor[j] * d.value[op.qkv](query.first + j, 2 * op.width + h * D + c);
        d.value[op.y](r, h * D + c) = sum;
      }
    }
  }
}

/// Through the full Jacobian of the softmax: ds_j = p_j (dp_j − Σ_l p_l dp_l).
inline void backward(const Attention& op, Data& d) {
  const std::int64_t D = op.width / op.heads, C = op.width;
  const Array &qkv = d.value[op.qkv], &dy = d.gradient[op.y];
  Array& dqkv = d.gradient[op.qkv];
  for (std::int64_t r = 0; r < d.count; ++r) {
    for (std::int64_t h = 0; h < op.heads; ++h) {
      const Query query = attend(op, d, r, h);
      std::vector<double> dp(d.tokens, 0.0);
      double mean = 0;
      for (std::int64_t j = 0; j < d.tokens; ++j) {
        for (std::int64_t c = 0; c < D; ++c) {
          dp[j] += dy(r, h * D + c) * qkv(query.first + j, 2 * C + h * D + c) * query.factor[j];
          dqkv(query.first + j, 2 * C + h * D + c) += query.p[j] * query.factor[j] * dy(r, h * D + c);
        }
        mean += query.p[j] * dp[j];
      }
      for (std::int64_t j = 0; j < d.tokens; ++j) {
        const double ds = query.p[j] * (dp[j] - mean) / std::sqrt(double(D));
        for (std::int64_t c = 0; c < D; ++c) {
          dqkv(r, h * D + c) += ds * qkv(query.first + j, C + h * D + c);
          dqkv(query.first + j, C + h * D + c) += ds * qkv(r, h * D + c);
        }
      }
    }
  }
}

}  // namespace wsc::reference
