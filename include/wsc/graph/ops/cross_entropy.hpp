// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// The head: logits = x · tableᵀ, loss[r] = mask[r] · (log Σ exp logits[r] − logits[r, label r]).  x: (rows, C).  table: (V, C).
/// Losses are one double per row. Backward: dlogits = mask · (softmax − one-hot) · gradient scale, written over the logits, then
/// dx = dlogits · table, dtable += dlogitsᵀ · x.  Keeps x and the logits, which in the turn live for one tile only.
struct CrossEntropy {
  TensorId x;
  TensorId logits;  // (rows, V)
  WeightId table;
  std::int64_t width = 0;  // C
  std::int64_t vocab = 0;  // V

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = true;
  std::vector<TensorId> inputs() const { return {x}; }
  std::vector<TensorId> outputs() const { return {logits}; }
  std::vector<TensorId> kept() const { return {x, logits}; }
  std::vector<WeightId> weights() const { return {table}; }
  std::int64_t workspace(const Extent& e) const { return e.rounded ? product_workspace(e.rows, width, vocab) : 0; }
  Cost cost(const Extent& e) const {
    const double products = 2.0 * e.rows * width * vocab, touched = 4.0 * (1.0 * e.rows * (width + vocab) + 1.0 * width * vocab);
    return {.forward_flops = products, .backward_flops = 2 * products, .forward_bytes = touched, .backward_bytes = 3 * touched};
  }
};

}  // namespace wsc
