// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "small_product.hpp"

#include "wsc/graph/ops/attention.hpp"
#include "wsc/kernels/dropout_mask.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/vector_math.hpp"

/// A block of queries meets the keys it may see block by block, with a running maximum and sum (Milakov, Gimelshein 2018, algorithm 3):
/// scores exist for one pair of blocks at a time, whatever T is. They are kept transposed, a row per key and a column per query, so that
/// maxima, sums and exponentials run along vectors of queries and no key or value has to be packed.
namespace wsc::kernels::attention {

inline constexpr std::int64_t queries = Attention::query_block, key_block = Attention::key_block;

/// What a worker has at hand for one pair of blocks. A: the arithmetic type. What is added up over blocks is added up in the result, or
/// here where the result would round it: `values` and what follows are used only then.
template <class A>
struct Scratch {
  A *scores, *score_gradients;      // (key_block, queries)
  A *transposed_q, *transposed_dy;  // (D, queries)
  A *q, *dy;                        // (queries, D), rows side by side: rows of the tile lie in as many pages of memory
  A* keys;                          // (key_block, D), likewise: keys or values
  A* values;                        // (key_block, D)
  A* sums;                          // (queries, D) of y or dq
  A *dk, *dv;                       // (T, D) of a head

  Scratch(A* memory, std::int64_t size, std::int64_t tokens)
      : scores(memory),
        score_gradients(scores + key_block * queries),
        transposed_q(score_gradients + key_block * queries),
        transposed_dy(transposed_q + size * queries),
        q(transposed_dy + size * queries),
        dy(q + size * queries),
        keys(dy + size * queries),
        values(keys + size * key_block),
        sums(values + size * key_block),
        dk(sums + size * queries),
        dv(dk + size * tokens) {}
};

/// One head of one sample: pointers to its first row. q, k, v have rows 3C apart, y C, log_sum H.
template <class Real>
struct Head {
  std::int64_t tokens, size;                      // T, D
  std::int64_t qkv_stride, y_stride, sum_stride;  // 3C, C, H
  const Real *q, *k, *v;
  Real* y;
  Arithmetic<Real>* log_sum;
  const std::int32_t* span;             // null: plain causal
  std::uint64_t sample, first_element;  // dropout: element of (i, j) is first_element + i T + j
  Arithmetic<Real> scale;               // 1 / √D
  const DropoutMask* mask;              // null: no dropout

  RowsOf<const Real> keys(std::int64_t j) const { return {k + j * qkv_stride, qkv_stride}; }
  RowsOf<const Real> values(std::int64_t j) const { return {v + j * qkv_stride, qkv_stride}; }
};

/// Queries [first, first + count) and keys [first_key, first_key + keys).
struct Pair {
  std::int64_t first, count, first_key, keys;

  std::int64_t offset() const { return first_key - first; }
  /// Of (key, query) arrays: query i sees no key after it.
  Band queries_of_key() const { return {Wanted::columns_from_row, offset()}; }
  Band terms_of_key() const { return {Wanted::terms_from_row, offset()}; }
  Band terms_of_query() const { return {Wanted::terms_up_to_row, -offset()}; }
};

/// The columns of a (key, query) row whose queries see the key: 0 ≤ i − j ≤ span[j].
struct Range {
  std::int64_t begin, end;
};

/// The first key that any query from `first` on may see: documents that end before it are skipped.
template <class Real>
KOKKOS_INLINE_FUNCTION std::int64_t first_visible_key(const Head<Real>& head, std::int64_t first) {
  std::int64_t j = 0;
  while (head.span && j < first && j + head.span[j] < first) ++j;
  return j;
}

/// Calls body on the pairs of a block of queries with the blocks of keys that it may see, keys in order.
template <class Real, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_key_blocks(const Head<Real>& head, std::int64_t first, std::int64_t count, const Body& body) {
  const std::int64_t end = first + count;
  for (std::int64_t j = first_visible_key(head, first); j < end; j += key_block)
    body(Pair{first, count, j, end - j < key_block ? end - j : key_block});
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Range visible(const Head<Real>& head, const Pair& p, std::int64_t row) {
  const std::int64_t from = row + p.offset(), to = head.span ? from + head.span[p.first_key + row] + 1 : queries;
  const std::int64_t begin = from > 0 ? from : 0, end = to < p.count ? to : p.count;
  return {begin, end > begin ? end : begin};
}

KOKKOS_FORCEINLINE_FUNCTION void fill_outside(const Range& range, auto* row, auto value) {
  for (std::int64_t i = 0; i < range.begin; ++i) row[i] = value;
  for (std::int64_t i = range.end; i < queries; ++i) row[i] = value;
}

/// Rows as products read them: where they lie, or converted in `room`.  (rows, size)
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION RowsOf<const Arithmetic<Real>> readable(std::int64_t rows, std::int64_t size, const RowsOf<const Real>& from,
                                                                    [[maybe_unused]] Arithmetic<Real>* room) {
  if constexpr (rounds<Real>) {
    gather<Real>(rows, size, from, room);
    return {room, size};
  } else {
    return from;
  }
}

/// scores[j, i] = scale · k_j · q_i, −∞ where query i does not see key j.
template <class Real>
KOKKOS_INLINE_FUNCTION void score(const Head<Real>& head, const Pair& p, const Scratch<Arithmetic<Real>>& s) {
  using A = Arithmetic<Real>;
  const RowsOf<const A> keys = readable<Real>(p.keys, head.size, head.keys(p.first_key), s.keys);
  multiply<A>(p.keys, queries, head.size, {keys.data, keys.stride, 1}, {s.transposed_q, queries}, {s.scores, queries}, false,
              p.queries_of_key());
  for (std::int64_t r = 0; r < p.keys; ++r) {
    A* const row = s.scores + r * queries;
#pragma omp simd
    for (std::int64_t i = 0; i < queries; ++i) row[i] *= head.scale;
    const Range seen = visible(head, p, r);
    if (seen.begin > 0 || seen.end < queries) fill_outside(seen, row, -std::numeric_limits<A>::infinity());
  }
}

/// Multiplies (key, query) rows by the dropout factors of their elements.
template <class Real>
void drop(const Head<Real>& head, const Pair& p, Arithmetic<Real>* rows) {
  Arithmetic<Real> factor[key_block];
  for (std::int64_t i = 0; i < p.count; ++i) {
    head.mask->factors(head.sample, head.first_element + (p.first + i) * head.tokens + p.first_key, p.keys, factor);
    for (std::int64_t r = 0; r < p.keys; ++r) rows[r * queries + i] *= factor[r];
  }
}

/// Running maximum and sum of the exponentials of every query of a block.
template <class Real>
struct Running {
  Real highest[queries];
  double sum[queries];
  static constexpr std::int64_t lanes = 32;
  Real rescale[queries];  // of what was summed before the last pair

  KOKKOS_FUNCTION Running() {
    for (std::int64_t i = 0; i < queries; ++i) highest[i] = -std::numeric_limits<Real>::infinity(), sum[i] = 0;
  }

  /// scores become exp(score − maximum so far), and their sums are added.
  KOKKOS_INLINE_FUNCTION void take(Real* scores, std::int64_t keys) {
    Real most[queries], part[queries];
    for (std::int64_t i = 0; i < queries; ++i) most[i] = highest[i], part[i] = 0;
    for (std::int64_t i0 = 0; i0 < queries; i0 += lanes) {
      for (std::int64_t r = 0; r < keys; ++r) {
        const Real* const row = scores + r * queries;
#pragma omp simd
        for (std::int64_t i = i0; i < i0 + lanes; ++i) most[i] = row[i] > most[i] ? row[i] : most[i];  // a NaN shows in the sum
      }
    }
    for (std::int64_t i = 0; i < queries; ++i) {
      const Real base = most[i] == -std::numeric_limits<Real>::infinity() ? Real(0) : most[i];
      rescale[i] = exponential(highest[i] - base);
      highest[i] = most[i];
      most[i] = base;
    }
    for (std::int64_t r = 0; r < keys; ++r) {
      Real* const row = scores + r * queries;
#pragma omp simd
      for (std::int64_t i = 0; i < queries; ++i) {
        row[i] = exponential(row[i] - most[i]);
        part[i] += row[i];
      }
    }
    for (std::int64_t i = 0; i < queries; ++i) sum[i] = sum[i] * static_cast<double>(rescale[i]) + static_cast<double>(part[i]);
  }
};

template <class Real>
KOKKOS_INLINE_FUNCTION void scale_rows(const RowsOf<Real>& y, std::int64_t rows, std::int64_t size, const Real* factor) {
  for (std::int64_t i = 0; i < rows; ++i) {
#pragma omp simd
    for (std::int64_t d = 0; d < size; ++d) y.data[i * y.stride + d] *= factor[i];
  }
}

/// to = from where the two are not the same memory.
template <class Real>
KOKKOS_INLINE_FUNCTION void put(std::int64_t rows, std::int64_t size, const RowsOf<Arithmetic<Real>>& from, const RowsOf<Real>& to) {
  if constexpr (rounds<Real>) {
    for (std::int64_t i = 0; i < rows; ++i) narrow(size, from.data + i * from.stride, to.data + i * to.stride);
  }
}

/// Where rows of a result are added up: in the result, or in `room` where it would round them.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION RowsOf<Arithmetic<Real>> sums_of(const RowsOf<Real>& result, [[maybe_unused]] std::int64_t size,
                                                             [[maybe_unused]] Arithmetic<Real>* room) {
  if constexpr (rounds<Real>)
    return {room, size};
  else
    return result;
}

}  // namespace wsc::kernels::attention
