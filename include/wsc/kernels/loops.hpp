// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "wsc/base/view.hpp"

/// The three shapes of parallel loop that the ops use. All cut their work into fixed pieces, so results do not depend on the number of
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

/// Σ term(i) for 0 ≤ i < n: pieces of 256 in Real (vector lanes), the pieces in double, in order.
template <class Real, class Term>
KOKKOS_FORCEINLINE_FUNCTION double sum_of(std::int64_t n, const Term& term) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += 256) {
    const std::int64_t end = begin + 256 < n ? begin + 256 : n;
    Real piece = 0;
#pragma omp simd reduction(+ : piece)
    for (std::int64_t i = begin; i < end; ++i) piece += term(i);
    total += piece;
  }
  return total;
}

}  // namespace wsc::kernels
