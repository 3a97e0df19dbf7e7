// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "wsc/base/view.hpp"
#include "wsc/graph/cost.hpp"
#include "wsc/kernels/arithmetic.hpp"

/// The shapes of parallel loop that the ops use. All cut their work into fixed pieces, so results do not depend on the number of
/// threads. Bodies are loops over contiguous memory that the compiler vectorises.
namespace wsc::kernels {

/// Elements that one call of a body handles: small enough for the L1 cache, large enough to hide the launch.
inline constexpr std::int64_t chunk_size = 2048;

/// body(begin, end) on consecutive ranges of 0 … n − 1.
template <class Body>
void for_chunks(const char* label, const Exec& exec, std::int64_t n, const Body& body) {
  const std::int64_t chunks = (n + chunk_size - 1) / chunk_size;
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Exec>(exec, 0, chunks),
      KOKKOS_LAMBDA(std::int64_t c) { body(c * chunk_size, (c + 1) * chunk_size < n ? (c + 1) * chunk_size : n); });
}

/// body(row) on every row.
template <class Body>
void for_rows(const char* label, const Exec& exec, std::int64_t rows, const Body& body) {
  Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec>(exec, 0, rows), body);
}

/// Columns that one call of a column body handles: two cache lines of fp32.
inline constexpr std::int64_t column_chunk = 32;

/// body(first, count) on groups of at most column_chunk columns: for sums over rows, each column summed by one thread in row order.
template <class Body>
void for_column_groups(const char* label, const Exec& exec, std::int64_t columns, const Body& body) {
  const std::int64_t groups = (columns + column_chunk - 1) / column_chunk;
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Exec>(exec, 0, groups), KOKKOS_LAMBDA(std::int64_t g) {
        const std::int64_t first = g * column_chunk;
        body(first, columns - first < column_chunk ? columns - first : column_chunk);
      });
}

/// The first half of a sum over rows: body(row, partial) adds what row r gives to partial[0 … width − 1], one such array per piece of
/// column_sum_rows rows. The body sees each row once and may do more with it. `partials`: column_sum_workspace(rows, width) elements.
template <class Real, class Body>
void add_row_terms(const char* label, const Exec& exec, std::int64_t rows, std::int64_t width, Real* partials, const Body& body) {
  const std::int64_t pieces = (rows + column_sum_rows - 1) / column_sum_rows;
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Exec>(exec, 0, pieces), KOKKOS_LAMBDA(std::int64_t p) {
        Real* const partial = partials + p * width;
        for (std::int64_t c = 0; c < width; ++c) partial[c] = 0;
        const std::int64_t end = (p + 1) * column_sum_rows < rows ? (p + 1) * column_sum_rows : rows;
        for (std::int64_t r = p * column_sum_rows; r < end; ++r) body(r, partial);
      });
}

/// The second half: sums[c] += Σ partials[p, c] over the pieces, in double and in row order. Row p of the partials begins at p · stride.
template <class Real>
void add_partials(const char* label, const Exec& exec, std::int64_t rows, std::int64_t width, const Real* partials, std::int64_t stride,
                  Real* sums) {
  const std::int64_t pieces = (rows + column_sum_rows - 1) / column_sum_rows;
  for_column_groups(
      label, exec, width, KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        double total[column_chunk] = {};
        for (std::int64_t p = 0; p < pieces; ++p) {
          const Real* const partial = partials + p * stride + first;
          for (std::int64_t c = 0; c < count; ++c) total[c] += partial[c];
        }
        for (std::int64_t c = 0; c < count; ++c) sums[first + c] += static_cast<Real>(total[c]);
      });
}

/// combine over term(i), begin ≤ i < end, in 32 interleaved lanes that are combined pairwise at the end: an order that no compiler or
/// vector length changes. (A reduction clause is not vectorised by GCC 12 once it is inlined into a kernel.)
template <class Real, class Combine, class Term>
KOKKOS_FORCEINLINE_FUNCTION Real fold(std::int64_t begin, std::int64_t end, Real start, const Combine& combine, const Term& term) {
  constexpr std::int64_t lanes = 32;
  Real lane[lanes];
  for (std::int64_t l = 0; l < lanes; ++l) lane[l] = start;
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
#pragma omp simd
    for (std::int64_t l = 0; l < lanes; ++l) lane[l] = combine(lane[l], term(i + l));
  }
  for (std::int64_t l = 0; i < end; ++i, ++l) lane[l] = combine(lane[l], term(i));
  for (std::int64_t half = lanes / 2; half > 0; half /= 2) {
    for (std::int64_t l = 0; l < half; ++l) lane[l] = combine(lane[l], lane[l + half]);
  }
  return lane[0];
}

/// Σ term(i) for 0 ≤ i < n: pieces of 256 in Real, the pieces in double, in order.
template <class Real, class Term>
KOKKOS_FORCEINLINE_FUNCTION double sum_of(std::int64_t n, const Term& term) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += 256)
    total += fold(
        begin, begin + 256 < n ? begin + 256 : n, Real(0), [](Real a, Real b) { return a + b; }, term);
  return total;
}

/// The largest of n elements, −∞ of none. NaNs are passed over: sums that follow carry them.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<Real> max_of(const Real* x, std::int64_t n) {
  using A = Arithmetic<Real>;
  return fold(
      0, n, -std::numeric_limits<A>::infinity(), [](A a, A b) { return b > a ? b : a; }, [x](std::int64_t i) { return load(x[i]); });
}

}  // namespace wsc::kernels
