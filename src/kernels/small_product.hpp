// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <Kokkos_Macros.hpp>

#include "wsc/kernels/arithmetic.hpp"

/// Products of matrices that stay in the nearest caches, as attention makes them by the thousand: as fast as calls of the GEMM library,
/// which cannot leave out what a causal mask hides. One thread, no packing: the right operand is read along its rows, the left one element
/// by element.
namespace wsc::kernels {

/// The left operand: element (i, p) is data[i · row + p · column], so it may be transposed.
template <class Real>
struct Left {
  const Real* data;
  std::int64_t row, column;
};

/// Rows of a matrix, `stride` elements apart.
template <class Real>
struct RowsOf {
  Real* data;
  std::int64_t stride;
};

/// Which of the terms are wanted: those of rows i and columns j (upper, of C) or sums over p (of A's columns) near a diagonal. Tiles that
/// lie wholly outside are left out, the rest are made whole.
enum class Wanted {
  all,
  columns_from_row,  ///< C[i, j] with j ≥ i + offset only
  terms_from_row,    ///< A[i, p] is 0 for p < i + offset
  terms_up_to_row    ///< A[i, p] is 0 for p > i + offset
};
struct Band {
  Wanted wanted = Wanted::all;
  std::int64_t offset = 0;
};

namespace small_product {

#ifdef __AVX512F__
inline constexpr int vector_bytes = 64;
#else
inline constexpr int vector_bytes = 32;
#endif
template <class Real>
struct VectorOf {
  typedef Real type __attribute__((vector_size(vector_bytes), aligned(sizeof(Real)), may_alias));  // anywhere in an array of Real
  static constexpr std::int64_t width = vector_bytes / sizeof(Real);
};

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION const typename VectorOf<Real>::type& at(const Real* p) {
  return *reinterpret_cast<const typename VectorOf<Real>::type*>(p);
}
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION typename VectorOf<Real>::type& at(Real* p) {
  return *reinterpret_cast<typename VectorOf<Real>::type*>(p);
}

/// Rows i … i + M − 1 and N vectors of columns from j on; their sums stay in registers.
template <int M, int N, class Real>
KOKKOS_FORCEINLINE_FUNCTION void tile(std::int64_t i, std::int64_t j, std::int64_t k, const Left<Real>& a, const RowsOf<const Real>& b,
                                      const RowsOf<Real>& c, bool accumulate) {
  using Vector = typename VectorOf<Real>::type;
  constexpr std::int64_t width = VectorOf<Real>::width;
  Vector sum[M][N];
#pragma GCC unroll 8
  for (int r = 0; r < M; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) {
      sum[r][v] = accumulate ? at<Real>(c.data + (i + r) * c.stride + j + v * width) : Vector{};
    }
  }
  const Real* left = a.data + i * a.row;
  const Real* right = b.data + j;
  for (std::int64_t p = 0; p < k; ++p, left += a.column, right += b.stride) {
    Vector x[N];
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) x[v] = at<Real>(right + v * width);
#pragma GCC unroll 8
    for (int r = 0; r < M; ++r) {
      const Real factor = left[r * a.row];
#pragma GCC unroll 2
      for (int v = 0; v < N; ++v) sum[r][v] += factor * x[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < M; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < N; ++v) at<Real>(c.data + (i + r) * c.stride + j + v * width) = sum[r][v];
  }
}

/// One tile with what the band leaves of it.
template <int M, int N, class Real>
KOKKOS_FORCEINLINE_FUNCTION void banded_tile(std::int64_t i, std::int64_t j, std::int64_t k, Left<Real> a, RowsOf<const Real> b,
                                             const RowsOf<Real>& c, bool accumulate, const Band& band) {
  std::int64_t begin = 0, end = k;
  if (band.wanted == Wanted::columns_from_row && j + N * VectorOf<Real>::width <= i + band.offset) return;
  if (band.wanted == Wanted::terms_from_row && i + band.offset > 0) begin = i + band.offset < k ? i + band.offset : k;
  if (band.wanted == Wanted::terms_up_to_row && i + M + band.offset < k) end = i + M + band.offset > 0 ? i + M + band.offset : 0;
  a.data += begin * a.column;
  b.data += begin * b.stride;
  tile<M, N>(i, j, end - begin, a, b, c, accumulate);
}

template <int N, class Real>
KOKKOS_FORCEINLINE_FUNCTION void columns(std::int64_t m, std::int64_t j, std::int64_t k, const Left<Real>& a, const RowsOf<const Real>& b,
                                         const RowsOf<Real>& c, bool accumulate, const Band& band) {
  std::int64_t i = 0;
  for (; i + 6 <= m; i += 6) banded_tile<6, N>(i, j, k, a, b, c, accumulate, band);  // 6 × 2 sums hide the latency of a multiply-add
  if (i + 4 <= m) banded_tile<4, N>(i, j, k, a, b, c, accumulate, band), i += 4;
  if (i + 2 <= m) banded_tile<2, N>(i, j, k, a, b, c, accumulate, band), i += 2;
  if (i < m) banded_tile<1, N>(i, j, k, a, b, c, accumulate, band);
}

}  // namespace small_product

/// C = A · B, or C += A · B, with A: (m, k), B: (k, n), C: (m, n). Every element is one sum over k, in order.
template <class Real>
KOKKOS_INLINE_FUNCTION void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Left<Real>& a, const RowsOf<const Real>& b,
                                     const RowsOf<Real>& c, bool accumulate, const Band& band = {}) {
  constexpr std::int64_t width = small_product::VectorOf<Real>::width;
  std::int64_t j = 0;
  for (; j + 2 * width <= n; j += 2 * width) small_product::columns<2>(m, j, k, a, b, c, accumulate, band);
  for (; j + width <= n; j += width) small_product::columns<1>(m, j, k, a, b, c, accumulate, band);
  for (; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      Real sum = accumulate ? c.data[i * c.stride + j] : Real(0);
      for (std::int64_t p = 0; p < k; ++p) sum += a.data[i * a.row + p * a.column] * b.data[p * b.stride + j];
      c.data[i * c.stride + j] = sum;
    }
  }
}

/// to (rows, columns) = from, without gaps between the rows.
template <class Real>
KOKKOS_INLINE_FUNCTION void gather(std::int64_t rows, std::int64_t columns, const RowsOf<const Real>& from, Arithmetic<Real>* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) to[r * columns + c] = load(from.data[r * from.stride + c]);
  }
}

/// to (columns, to.stride) = fromᵀ of `rows` rows; columns of `to` from `rows` on become 0.
template <class Real>
KOKKOS_INLINE_FUNCTION void transpose(std::int64_t rows, std::int64_t columns, const RowsOf<const Real>& from,
                                      const RowsOf<Arithmetic<Real>>& to) {
  constexpr std::int64_t block = 8;
  for (std::int64_t c0 = 0; c0 < columns; c0 += block) {
    const std::int64_t c1 = c0 + block < columns ? c0 + block : columns;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = c0; c < c1; ++c) to.data[c * to.stride + r] = load(from.data[r * from.stride + c]);
    for (std::int64_t c = c0; c < c1; ++c)
      for (std::int64_t r = rows; r < to.stride; ++r) to.data[c * to.stride + r] = 0;
  }
}

}  // namespace wsc::kernels
