// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rounded_product.hpp"

#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/loops.hpp"

namespace wsc::kernels {
namespace {

/// to[r, c] = what the addend has there, of which one part at least exists.  (rows, columns)
template <class Real>
void preload(const Exec& exec, std::int64_t rows, std::int64_t columns, const Addend<Real>& addend, Arithmetic<Real>* to,
             std::int64_t to_stride) {
  for_rows(
      "wsc::kernels::product_preload", exec, rows, KOKKOS_LAMBDA(std::int64_t r) {
        Arithmetic<Real>* const out = to + r * to_stride;
        const Real* const from = addend.matrix ? addend.matrix + r * addend.stride : nullptr;
        if (from && addend.row) {
#pragma omp simd
          for (std::int64_t c = 0; c < columns; ++c) out[c] = load(from[c]) + load(addend.row[c]);
        } else {
          const Real* const only = from ? from : addend.row;
#pragma omp simd
          for (std::int64_t c = 0; c < columns; ++c) out[c] = load(only[c]);
        }
      });
}

/// The part of an addend at row i and column j.
template <class Real>
Addend<Real> part(const Addend<Real>& addend, std::int64_t i, std::int64_t j) {
  return {addend.matrix ? addend.matrix + i * addend.stride + j : nullptr, addend.stride, addend.row ? addend.row + j : nullptr};
}

/// to = from, rounded.  (rows, columns)
template <class Real>
void round_to(const Exec& exec, std::int64_t rows, std::int64_t columns, const float* from, std::int64_t from_stride, Real* to,
              std::int64_t to_stride) {
  for_rows(
      "wsc::kernels::product_round", exec, rows,
      KOKKOS_LAMBDA(std::int64_t r) { narrow(columns, from + r * from_stride, to + r * to_stride); });
}

}  // namespace

template <class Real>
void product(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Operand<Real> a, Operand<Real> b,
             const Addend<Real>& addend, Real* c, std::int64_t c_stride, Vector<Arithmetic<Real>> workspace) {
  const bool adds = addend.matrix || addend.row;
  if constexpr (rounds<Real>) {
    RoundedProduct<Real> blocks(exec, ta, tb, m, n, k, a, b, workspace);
    blocks.for_each_block([&](const Block& block) {
      float* const sums = blocks.result();
      const std::int64_t stride = blocks.result_stride();
      if (adds) preload(exec, block.rows, block.columns, part(addend, block.i, block.j), sums, stride);
      blocks.make(block, adds, sums, stride);
      round_to(exec, block.rows, block.columns, sums, stride, c + block.i * c_stride + block.j, c_stride);
    });
  } else {
    const bool in_place = addend.matrix == c && addend.stride == c_stride && !addend.row;
    if (adds && !in_place) preload(exec, m, n, addend, c, c_stride);
    gemm<Real>(exec, ta, tb, m, n, k, 1, a, b, adds ? 1 : 0, c, c_stride);
  }
}

template <class Real>
void add_product(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Operand<Real> a,
                 Operand<Real> b, Arithmetic<Real>* c, std::int64_t c_stride, Vector<Arithmetic<Real>> workspace) {
  if constexpr (rounds<Real>) {
    RoundedProduct<Real> blocks(exec, ta, tb, m, n, k, a, b, workspace);
    blocks.for_each_block([&](const Block& block) { blocks.make(block, true, c + block.i * c_stride + block.j, c_stride); });
  } else {
    gemm<Real>(exec, ta, tb, m, n, k, 1, a, b, 1, c, c_stride);
  }
}

#define WSC_INSTANTIATE(Real)                                                                                                          \
  template void product(const Exec&, Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, Operand<Real>, Operand<Real>,     \
                        const Addend<Real>&, Real*, std::int64_t, Vector<Arithmetic<Real>>);                                           \
  template void add_product(const Exec&, Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, Operand<Real>, Operand<Real>, \
                            Arithmetic<Real>*, std::int64_t, Vector<Arithmetic<Real>>)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
