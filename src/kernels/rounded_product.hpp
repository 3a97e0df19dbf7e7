// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "library_threads.hpp"
#include "native_product.hpp"

#include "wsc/base/error.hpp"
#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/loops.hpp"

namespace wsc::kernels {

/// to (rows, columns), rows to_stride apart, = from in fp32.
template <class Format>
void widen_rows(const Exec& exec, std::int64_t rows, std::int64_t columns, Operand<Format> from, float* to, std::int64_t to_stride) {
  for_rows(
      "wsc::kernels::product_widen", exec, rows,
      KOKKOS_LAMBDA(std::int64_t r) { widen(columns, from.data + r * from.stride, to + r * to_stride); });
}

/// op(A) · op(B) of 16-bit operands, block by block of the result, with sums in fp32. Here it is chosen how a block is made: by
/// instructions of the processor for such operands, or from operands converted to fp32 (exactly) in the workspace. How the result is cut
/// depends on its shape only.
template <class Format>
class RoundedProduct {
 public:
  RoundedProduct(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Operand<Format> a,
                 Operand<Format> b, Vector<float> workspace)
      : exec_(exec), ta_(ta), tb_(tb), m_(m), n_(n), k_(k), a_(a), b_(b), workspace_(workspace.data()) {
    WSC_EXPECT(m > 0 && n > 0 && k > 0 && static_cast<std::int64_t>(workspace.extent(0)) >= product_workspace(m, n, k));
  }

  /// body(block) on all parts of the result, those that share columns one after the other.
  template <class Body>
  void for_each_block(const Body& body) const {
    const std::int64_t rows = even(m_), columns = even(n_);
    for (std::int64_t j = 0; j < n_; j += columns)
      for (std::int64_t i = 0; i < m_; i += rows) body(Block{i, std::min(rows, m_ - i), j, std::min(columns, n_ - j)});
  }

  /// Room for one block, and how far apart its rows then lie.
  float* result() const { return workspace_; }
  std::int64_t result_stride() const { return std::min(n_, product_block) + 16; }

  /// to (rows, columns) = or += the block.
  void make(const Block& block, bool adds, float* to, std::int64_t to_stride) {
    if (native_products<Format>()) {
      native_product(exec_, ta_, tb_, block.rows, block.columns, k_, a_at(block.i, 0), b_at(0, block.j), adds, to, to_stride);
      return;
    }
    const std::int64_t depth = even(k_), side = std::min(m_, product_block) + 16;
    float *const left = result() + side * result_stride(), *const right = left + side * (std::min(k_, product_block) + 16);
    for (std::int64_t p = 0; p < k_; p += depth) {
      const std::int64_t terms = std::min(depth, k_ - p);
      const Operand<float> a = widened(ta_, a_at(block.i, p), block.rows, terms, left, in_left_);
      const Operand<float> b = widened(tb_, b_at(p, block.j), terms, block.columns, right, in_right_);
      gemm<float>(exec_, ta_, tb_, block.rows, block.columns, terms, 1, a, b, adds || p > 0 ? 1 : 0, to, to_stride);
    }
  }

 private:
  /// The size of the parts into which x is cut: as few as product_block allows, nearly equal.
  static std::int64_t even(std::int64_t x) {
    const std::int64_t pieces = (x + product_block - 1) / product_block;
    return std::min(product_block, ((x + pieces - 1) / pieces + 63) / 64 * 64);
  }

  /// The operand from row i and column p of op(A) on, or row p and column j of op(B).
  Operand<Format> a_at(std::int64_t i, std::int64_t p) const { return {a_.data + offset(ta_, i, p, a_.stride), a_.stride}; }
  Operand<Format> b_at(std::int64_t p, std::int64_t j) const { return {b_.data + offset(tb_, p, j, b_.stride), b_.stride}; }

  /// (rows, columns) of op(from) in fp32, stored as `from` is; nothing to do where they are `there` already.
  Operand<float> widened(Transpose t, Operand<Format> from, std::int64_t rows, std::int64_t columns, float* to,
                         const Format*& there) const {
    if (t == Transpose::yes) std::swap(rows, columns);
    const std::int64_t to_stride = columns + 16;  // rows a page apart would fall into the same places of a cache
    if (there != from.data) {
      widen_rows(exec_, rows, columns, from, to, to_stride);
      there = from.data;
    }
    return {to, to_stride};
  }

  const Exec& exec_;
  Transpose ta_, tb_;
  std::int64_t m_, n_, k_;
  Operand<Format> a_, b_;
  float* workspace_;
  const Format *in_left_ = nullptr, *in_right_ = nullptr;  // where the blocks in the workspace come from
};

}  // namespace wsc::kernels
