// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "small_product.hpp"

#include "wsc/base/error.hpp"
#include "wsc/kernels/dropout_mask.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"
#include "wsc/kernels/vector_math.hpp"

// A block of queries meets the keys it may see block by block, with a running maximum and sum (Milakov, Gimelshein 2018, algorithm 3):
// scores exist for one pair of blocks at a time, whatever T is. They are kept transposed, a row per key and a column per query, so that
// maxima, sums and exponentials run along vectors of queries and no key or value has to be packed.
namespace wsc::kernels {
namespace {

constexpr std::int64_t queries = Attention::query_block, key_block = Attention::key_block;

/// What a worker has at hand for one pair of blocks.
template <class Real>
struct Scratch {
  Real *scores, *score_gradients;      // (key_block, queries)
  Real *transposed_q, *transposed_dy;  // (D, queries)
  Real *q, *dy;                        // (queries, D), rows side by side: rows of the tile lie in as many pages of memory
  Real* keys;                          // (key_block, D), likewise: keys or values

  Scratch(Real* memory, std::int64_t size)
      : scores(memory),
        score_gradients(scores + key_block * queries),
        transposed_q(score_gradients + key_block * queries),
        transposed_dy(transposed_q + size * queries),
        q(transposed_dy + size * queries),
        dy(q + size * queries),
        keys(dy + size * queries) {}
};

/// One head of one sample: pointers to its first row. q, k, v have rows 3C apart, y C, log_sum H.
template <class Real>
struct Head {
  std::int64_t tokens, size;                      // T, D
  std::int64_t qkv_stride, y_stride, sum_stride;  // 3C, C, H
  const Real *q, *k, *v;
  Real *y, *log_sum;
  const std::int32_t* span;             // null: plain causal
  std::uint64_t sample, first_element;  // dropout: element of (i, j) is first_element + i T + j
  Real scale;                           // 1 / √D
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

/// scores[j, i] = scale · k_j · q_i, −∞ where query i does not see key j.
template <class Real>
KOKKOS_INLINE_FUNCTION void score(const Head<Real>& head, const Pair& p, const Scratch<Real>& s) {
  const RowsOf<const Real> keys = head.keys(p.first_key);
  multiply<Real>(p.keys, queries, head.size, {keys.data, keys.stride, 1}, {s.transposed_q, queries}, {s.scores, queries}, false,
                 p.queries_of_key());
  for (std::int64_t r = 0; r < p.keys; ++r) {
    Real* const row = s.scores + r * queries;
#pragma omp simd
    for (std::int64_t i = 0; i < queries; ++i) row[i] *= head.scale;
    const Range seen = visible(head, p, r);
    if (seen.begin > 0 || seen.end < queries) fill_outside(seen, row, -std::numeric_limits<Real>::infinity());
  }
}

/// Multiplies (key, query) rows by the dropout factors of their elements.
template <class Real>
void drop(const Head<Real>& head, const Pair& p, Real* rows) {
  Real factor[key_block];
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

template <class Real>
void forward_block(const Head<Real>& head, std::int64_t first, std::int64_t count, const Scratch<Real>& s) {
  const RowsOf<Real> y{head.y + first * head.y_stride, head.y_stride};
  transpose<Real>(count, head.size, {head.q + first * head.qkv_stride, head.qkv_stride}, {s.transposed_q, queries});
  Running<Real> running;
  bool begun = false;
  for_key_blocks(head, first, count, [&](const Pair& p) {
    score(head, p, s);
    running.take(s.scores, p.keys);
    if (head.mask) drop(head, p, s.scores);
    if (begun) scale_rows(y, count, head.size, running.rescale);
    gather<Real>(p.keys, head.size, head.values(p.first_key), s.keys);
    multiply<Real>(count, head.size, p.keys, {s.scores, 1, queries}, {s.keys, head.size}, y, begun, p.terms_of_query());
    begun = true;
  });
  Real inverse[queries];
  for (std::int64_t i = 0; i < count; ++i) {
    const double sum = running.sum[i];
    inverse[i] = sum == 0 ? Real(0) : static_cast<Real>(1 / sum);
    // Infinity for a query that sees nothing: backward's exp(score − log sum) is then 0.
    head.log_sum[(first + i) * head.sum_stride] =
        sum == 0 ? std::numeric_limits<Real>::infinity() : static_cast<Real>(static_cast<double>(running.highest[i]) + std::log(sum));
  }
  scale_rows(y, count, head.size, inverse);
}

/// Gradients of one head, rows as far apart as those of q, k, v.
template <class Real>
struct HeadGradients {
  const Real* dy;  // rows C apart
  Real *dq, *dk, *dv;
  bool accumulate;
};

/// With p the probabilities, m the dropout factors and δ = Σ dy y of a query: scores become p m, score gradients p (m dp − δ) scale.
template <class Real>
KOKKOS_INLINE_FUNCTION void differentiate(const Head<Real>& head, const Pair& p, const Scratch<Real>& s, const Real* log_sum,
                                          const Real* delta) {
  for (std::int64_t r = 0; r < p.keys; ++r) {
    const Range seen = visible(head, p, r);
    if (seen.begin > 0 || seen.end < queries) fill_outside(seen, s.score_gradients + r * queries, Real(0));  // may be anything there
  }
  if (head.mask) drop(head, p, s.score_gradients);
  for (std::int64_t r = 0; r < p.keys; ++r) {
    Real* const row = s.scores + r * queries;
    Real* const gradient = s.score_gradients + r * queries;
#pragma omp simd
    for (std::int64_t i = 0; i < queries; ++i) {
      row[i] = exponential(row[i] - log_sum[i]);
      gradient[i] = row[i] * (gradient[i] - delta[i]) * head.scale;
    }
  }
  if (head.mask) drop(head, p, s.scores);
}

template <class Real>
void backward_block(const Head<Real>& head, const HeadGradients<Real>& g, std::int64_t first, std::int64_t count, const Scratch<Real>& s) {
  const RowsOf<const Real> q{head.q + first * head.qkv_stride, head.qkv_stride}, dy{g.dy + first * head.y_stride, head.y_stride};
  transpose<Real>(count, head.size, q, {s.transposed_q, queries});
  transpose<Real>(count, head.size, dy, {s.transposed_dy, queries});
  gather<Real>(count, head.size, q, s.q);
  gather<Real>(count, head.size, dy, s.dy);
  Real log_sum[queries], delta[queries];
  for (std::int64_t i = 0; i < queries; ++i)
    log_sum[i] = std::numeric_limits<Real>::infinity(), delta[i] = 0;  // columns past the last query
  for (std::int64_t i = 0; i < count; ++i) {
    const Real* const y = head.y + (first + i) * head.y_stride;
    const Real* const d = dy.data + i * dy.stride;
    log_sum[i] = head.log_sum[(first + i) * head.sum_stride];
    delta[i] = static_cast<Real>(sum_of<Real>(head.size, [=](std::int64_t c) { return d[c] * y[c]; }));
  }
  bool begun = g.accumulate;
  for_key_blocks(head, first, count, [&](const Pair& p) {
    const RowsOf<const Real> values = head.values(p.first_key);
    const std::int64_t row = p.first_key * head.qkv_stride;
    score(head, p, s);
    multiply<Real>(p.keys, queries, head.size, {values.data, values.stride, 1}, {s.transposed_dy, queries}, {s.score_gradients, queries},
                   false);
    differentiate(head, p, s, log_sum, delta);
    multiply<Real>(p.keys, head.size, count, {s.scores, queries, 1}, {s.dy, head.size}, {g.dv + row, head.qkv_stride}, true,
                   p.terms_of_key());
    multiply<Real>(p.keys, head.size, count, {s.score_gradients, queries, 1}, {s.q, head.size}, {g.dk + row, head.qkv_stride}, true,
                   p.terms_of_key());
    gather<Real>(p.keys, head.size, head.keys(p.first_key), s.keys);
    multiply<Real>(count, head.size, p.keys, {s.score_gradients, 1, queries}, {s.keys, head.size},
                   {g.dq + first * head.qkv_stride, head.qkv_stride}, begun, p.terms_of_query());
    begun = true;
  });
}

/// What all heads of a tile share; head(n) makes the n-th of samples × heads.
template <class Real>
struct Tile {
  std::int64_t tokens, width, heads, count, blocks, workers;
  Real *qkv, *y, *log_sum, *workspace;
  const std::int32_t* span;
  const std::int64_t* sample;

  Tile(const Attention& op, OpContext<Real>& context)
      : tokens(context.rows().tokens),
        width(op.width),
        heads(op.heads),
        count(context.rows().count / tokens * heads),
        blocks((tokens + queries - 1) / queries),
        qkv(context.value(op.qkv).data()),
        y(context.value(op.y).data()),
        log_sum(context.value(op.log_sum).data()),
        workspace(context.workspace().data()),
        span(context.rows().span.data()),
        sample(context.rows().sample.data()) {
    WSC_EXPECT(context.rows().count % tokens == 0 && width % heads == 0);
    const std::int64_t available = context.workspace().extent(0) / op.workspace({.rows = 0, .tokens = tokens, .threads = 1});
    WSC_EXPECT(available >= 1);
    workers = std::min(available, static_cast<std::int64_t>(context.exec().concurrency()));
  }

  std::int64_t size() const { return width / heads; }
  std::int64_t first_row(std::int64_t n) const { return n / heads * tokens; }
  std::int64_t first_column(std::int64_t n) const { return n % heads * size(); }
  Scratch<Real> scratch(std::int64_t worker) const { return {workspace + worker * Attention::workspace_each(size()), size()}; }

  Head<Real> head(std::int64_t n, const DropoutMask* mask) const {
    const std::int64_t h = n % heads, row = first_row(n), column = first_column(n);
    const Real* const q = qkv + row * 3 * width + column;
    return {.tokens = tokens,
            .size = size(),
            .qkv_stride = 3 * width,
            .y_stride = width,
            .sum_stride = heads,
            .q = q,
            .k = q + width,
            .v = q + 2 * width,
            .y = y + row * width + column,
            .log_sum = log_sum + row * heads + h,
            .span = span ? span + row : nullptr,
            .sample = static_cast<std::uint64_t>(sample[row]),
            .first_element = static_cast<std::uint64_t>(h * tokens * tokens),
            .scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(size()))),
            .mask = mask};
  }
};

}  // namespace

template <class Real>
void forward(const Attention& op, OpContext<Real>& context) {
  const Tile<Real> tile(op, context);
  const DropoutMask mask(context.dropout_key(op.name), op.dropout_rate);
  const bool drops = context.training && op.dropout_rate > 0;
  for_rows("wsc::kernels::attention_forward", context.exec(), tile.workers, [=](std::int64_t worker) {
    const Scratch<Real> scratch = tile.scratch(worker);
    // A worker takes every so many blocks of queries, as later ones of a head have more to do.
    for (std::int64_t n = worker; n < tile.count * tile.blocks; n += tile.workers) {
      const std::int64_t first = n % tile.blocks * queries, rest = tile.tokens - first;
      forward_block(tile.head(n / tile.blocks, drops ? &mask : nullptr), first, std::min(rest, queries), scratch);
    }
  });
}

/// dqkv; a worker owns a head, so the sums over queries in dk and dv need no atomics.
template <class Real>
void backward(const Attention& op, OpContext<Real>& context) {
  const Tile<Real> tile(op, context);
  const DropoutMask mask(context.dropout_key(op.name), op.dropout_rate);
  const bool drops = context.training && op.dropout_rate > 0;
  const Real* const dy = context.gradient(op.y).data();
  const GradientOut<Real> dqkv = context.gradient_out(op.qkv);
  for_rows("wsc::kernels::attention_backward", context.exec(), tile.workers, [=](std::int64_t worker) {
    const Scratch<Real> scratch = tile.scratch(worker);
    for (std::int64_t n = worker; n < tile.count; n += tile.workers) {
      const Head<Real> head = tile.head(n, drops ? &mask : nullptr);
      const std::int64_t row = tile.first_row(n), column = tile.first_column(n);
      Real* const dq = dqkv.value.data() + row * head.qkv_stride + column;
      const HeadGradients<Real> g{dy + row * head.y_stride + column, dq, dq + tile.width, dq + 2 * tile.width, dqkv.accumulate};
      for (std::int64_t i = 0; i < head.tokens && !g.accumulate; ++i)
        for (std::int64_t d = 0; d < head.size; ++d) g.dk[i * head.qkv_stride + d] = g.dv[i * head.qkv_stride + d] = 0;
      for (std::int64_t i = 0; i < head.tokens; i += queries) backward_block(head, g, i, std::min(head.tokens - i, queries), scratch);
    }
  });
}

template void forward(const Attention&, OpContext<float>&);
template void forward(const Attention&, OpContext<double>&);
template void backward(const Attention&, OpContext<float>&);
template void backward(const Attention&, OpContext<double>&);

}  // namespace wsc::kernels
