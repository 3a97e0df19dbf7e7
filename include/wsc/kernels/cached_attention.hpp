// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/base/view.hpp"
#include "wsc/graph/ops/attention.hpp"

/// Attention for generation: the keys and values of earlier tokens are kept, so that a new token costs one row and not the whole text.
namespace wsc::kernels {

/// What one attention op has seen of one text: row j holds key and value of token j.  Both (positions, C).
template <class Real>
struct KeyValueCache {
  Matrix<Real> keys, values;
};

/// Elements of workspace for a cache of so many positions: per thread one (query_block, positions) score block.
std::int64_t cached_attention_workspace(std::int64_t positions, int threads);

/// Appends the keys and values of new tokens, then y = softmax(q kᵀ / √D) v as the op says, new token i seeing tokens 0 … length + i.
/// qkv: (n, 3C), tokens length … length + n − 1.  cache: its first `length` rows are filled; there must be room for n more.  y: (n, C).
/// No dropout, no spans. Nothing for a backward pass is kept: the op's log_sum is not written. The result does not depend on the number
/// of threads.
template <class Real>
void cached_attention(const Exec& exec, const Attention& op, Matrix<const Real> qkv, const KeyValueCache<Real>& cache, std::int64_t length,
                      Matrix<Real> y, Vector<Real> workspace);

}  // namespace wsc::kernels
