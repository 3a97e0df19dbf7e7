// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// Causal multi-head attention (Vaswani et al. 2017, eq. 1): per sample and head y = dropout(softmax(q kᵀ / √D + mask)) v.
/// qkv: (rows, 3C), the three projections side by side, head h in columns h·D … (h+1)·D − 1 of each.  y: (rows, C).
/// Token i sees token j of its sample iff 0 ≤ i − j ≤ span[j]; without spans, iff j ≤ i.
/// Keeps qkv, y and the logarithm of the softmax's denominator (max included) of every row and head; the probabilities are rebuilt.
struct Attention {
  TensorId qkv, y;
  TensorId log_sum;         // (rows, H), kept for backward
  std::int64_t width = 0;   // C
  std::int64_t heads = 0;   // H; D = C / H
  double dropout_rate = 0;  // on the probabilities
  std::string name;         // key of the dropout's random numbers

  static constexpr Coupling coupling = Coupling::sample;
  static constexpr bool backward_reads_weights = false;
  /// Queries that one thread handles at once, and keys that they meet at once.
  static constexpr std::int64_t query_block = 64, key_block = 128;

  std::vector<TensorId> inputs() const { return {qkv}; }
  std::vector<TensorId> outputs() const { return {y, log_sum}; }
  std::vector<TensorId> kept() const { return {qkv, y, log_sum}; }
  std::vector<WeightId> weights() const { return {}; }
  /// Of one thread, for heads of D = `size`: two blocks of scores, four of queries, one of keys, whatever T is.
  static constexpr std::int64_t workspace_each(std::int64_t size) {
    return 2 * query_block * key_block + (4 * query_block + key_block) * size;
  }
  /// What one thread needs besides where activations are rounded: a block of values, the sums of a block of queries and those of the
  /// keys and values of a head.
  static constexpr std::int64_t rounded_workspace_each(std::int64_t size, std::int64_t tokens) {
    return (key_block + query_block + 2 * tokens) * size;
  }
  std::int64_t workspace(const Extent& e) const {
    const std::int64_t size = width / heads;
    return (workspace_each(size) + (e.rounded ? rounded_workspace_each(size, e.tokens) : 0)) * e.threads;
  }
  Cost cost(const Extent& e) const {
    const double causal_products = 2.0 * e.rows * e.tokens * width;  // q kᵀ and p v, half of each skipped
    const double touched = 4.0 * e.rows * 4 * width;
    return {
        .forward_flops = causal_products, .backward_flops = 2.5 * causal_products, .forward_bytes = touched, .backward_bytes = 2 * touched};
  }
};

}  // namespace wsc
