// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "attention_blocks.hpp"

#include "wsc/base/error.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {
namespace attention {
namespace {

template <class Real>
void forward_block(const Head<Real>& head, std::int64_t first, std::int64_t count, const Scratch<Arithmetic<Real>>& s) {
  using A = Arithmetic<Real>;
  const RowsOf<Real> result{head.y + first * head.y_stride, head.y_stride};
  const RowsOf<A> y = sums_of(result, head.size, s.sums);
  transpose<Real>(count, head.size, {head.q + first * head.qkv_stride, head.qkv_stride}, {s.transposed_q, queries});
  Running<A> running;
  bool begun = false;
  for_key_blocks(head, first, count, [&](const Pair& p) {
    score(head, p, s);
    running.take(s.scores, p.keys);
    if (head.mask) drop(head, p, s.scores);
    if (begun) scale_rows(y, count, head.size, running.rescale);
    gather<Real>(p.keys, head.size, head.values(p.first_key), s.keys);
    multiply<A>(count, head.size, p.keys, {s.scores, 1, queries}, {s.keys, head.size}, y, begun, p.terms_of_query());
    begun = true;
  });
  A inverse[queries];
  for (std::int64_t i = 0; i < count; ++i) {
    const double sum = running.sum[i];
    inverse[i] = sum == 0 ? A(0) : static_cast<A>(1 / sum);
    // Infinity for a query that sees nothing: backward's exp(score − log sum) is then 0.
    head.log_sum[(first + i) * head.sum_stride] =
        sum == 0 ? std::numeric_limits<A>::infinity() : static_cast<A>(static_cast<double>(running.highest[i]) + std::log(sum));
  }
  scale_rows(y, count, head.size, inverse);
  put(count, head.size, y, result);
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
KOKKOS_INLINE_FUNCTION void differentiate(const Head<Real>& head, const Pair& p, const Scratch<Arithmetic<Real>>& s,
                                          const Arithmetic<Real>* log_sum, const Arithmetic<Real>* delta) {
  using A = Arithmetic<Real>;
  for (std::int64_t r = 0; r < p.keys; ++r) {
    const Range seen = visible(head, p, r);
    if (seen.begin > 0 || seen.end < queries) fill_outside(seen, s.score_gradients + r * queries, A(0));  // may be anything there
  }
  if (head.mask) drop(head, p, s.score_gradients);
  for (std::int64_t r = 0; r < p.keys; ++r) {
    A* const row = s.scores + r * queries;
    A* const gradient = s.score_gradients + r * queries;
#pragma omp simd
    for (std::int64_t i = 0; i < queries; ++i) {
      row[i] = exponential(row[i] - log_sum[i]);
      gradient[i] = row[i] * (gradient[i] - delta[i]) * head.scale;
    }
  }
  if (head.mask) drop(head, p, s.scores);
}

/// dk and dv: what was added up for them.  (T, D)
template <class A>
struct KeyGradients {
  RowsOf<A> dk, dv;
};

template <class Real>
void backward_block(const Head<Real>& head, const HeadGradients<Real>& g, const KeyGradients<Arithmetic<Real>>& sums, std::int64_t first,
                    std::int64_t count, const Scratch<Arithmetic<Real>>& s) {
  using A = Arithmetic<Real>;
  const RowsOf<const Real> q{head.q + first * head.qkv_stride, head.qkv_stride}, dy{g.dy + first * head.y_stride, head.y_stride};
  transpose<Real>(count, head.size, q, {s.transposed_q, queries});
  transpose<Real>(count, head.size, dy, {s.transposed_dy, queries});
  gather<Real>(count, head.size, q, s.q);
  gather<Real>(count, head.size, dy, s.dy);
  A log_sum[queries], delta[queries];
  for (std::int64_t i = 0; i < queries; ++i) log_sum[i] = std::numeric_limits<A>::infinity(), delta[i] = 0;  // columns past the last query
  for (std::int64_t i = 0; i < count; ++i) {
    const Real* const y = head.y + (first + i) * head.y_stride;
    const Real* const d = dy.data + i * dy.stride;
    log_sum[i] = head.log_sum[(first + i) * head.sum_stride];
    delta[i] = static_cast<A>(sum_of<A>(head.size, [=](std::int64_t c) { return load(d[c]) * load(y[c]); }));
  }
  const RowsOf<Real> result{g.dq + first * head.qkv_stride, head.qkv_stride};
  const RowsOf<A> dq = sums_of(result, head.size, s.sums);
  if (rounds<Real> && g.accumulate) gather<Real>(count, head.size, {result.data, result.stride}, s.sums);
  bool begun = g.accumulate;
  for_key_blocks(head, first, count, [&](const Pair& p) {
    const RowsOf<const A> values = readable<Real>(p.keys, head.size, head.values(p.first_key), s.values);
    score(head, p, s);
    multiply<A>(p.keys, queries, head.size, {values.data, values.stride, 1}, {s.transposed_dy, queries}, {s.score_gradients, queries},
                false);
    differentiate(head, p, s, log_sum, delta);
    multiply<A>(p.keys, head.size, count, {s.scores, queries, 1}, {s.dy, head.size},
                {sums.dv.data + p.first_key * sums.dv.stride, sums.dv.stride}, true, p.terms_of_key());
    multiply<A>(p.keys, head.size, count, {s.score_gradients, queries, 1}, {s.q, head.size},
                {sums.dk.data + p.first_key * sums.dk.stride, sums.dk.stride}, true, p.terms_of_key());
    if constexpr (!rounds<Real>) gather<Real>(p.keys, head.size, head.keys(p.first_key), s.keys);  // else score() has done that
    multiply<A>(count, head.size, p.keys, {s.score_gradients, 1, queries}, {s.keys, head.size}, dq, begun, p.terms_of_query());
    begun = true;
  });
  put(count, head.size, dq, result);
}

/// All of one head.
template <class Real>
void backward_head(const Head<Real>& head, const HeadGradients<Real>& g, const Scratch<Arithmetic<Real>>& s) {
  using A = Arithmetic<Real>;
  const RowsOf<Real> dk{g.dk, head.qkv_stride}, dv{g.dv, head.qkv_stride};
  const KeyGradients<A> sums{sums_of(dk, head.size, s.dk), sums_of(dv, head.size, s.dv)};
  if (!g.accumulate) {
    for (std::int64_t i = 0; i < head.tokens; ++i)
      for (std::int64_t d = 0; d < head.size; ++d) sums.dk.data[i * sums.dk.stride + d] = sums.dv.data[i * sums.dv.stride + d] = 0;
  } else if constexpr (rounds<Real>) {
    gather<Real>(head.tokens, head.size, {dk.data, dk.stride}, s.dk);
    gather<Real>(head.tokens, head.size, {dv.data, dv.stride}, s.dv);
  }
  for (std::int64_t i = 0; i < head.tokens; i += queries) backward_block(head, g, sums, i, std::min(head.tokens - i, queries), s);
  put(head.tokens, head.size, sums.dk, dk);
  put(head.tokens, head.size, sums.dv, dv);
}

/// What all heads of a tile share; head(n) makes the n-th of samples × heads.
template <class Real>
struct Tile {
  std::int64_t tokens, width, heads, count, blocks, workers;
  Real *qkv, *y;
  Arithmetic<Real>*log_sum, *workspace;
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
        log_sum(context.statistic(op.log_sum).data()),
        workspace(context.workspace().data()),
        span(context.rows().span.data()),
        sample(context.rows().sample.data()) {
    WSC_EXPECT(context.rows().count % tokens == 0 && width % heads == 0);
    const std::int64_t available = context.workspace().extent(0) / workspace_each();
    WSC_EXPECT(available >= 1);
    workers = std::min(available, static_cast<std::int64_t>(context.exec().concurrency()));
  }

  std::int64_t size() const { return width / heads; }
  std::int64_t first_row(std::int64_t n) const { return n / heads * tokens; }
  std::int64_t first_column(std::int64_t n) const { return n % heads * size(); }
  std::int64_t workspace_each() const {
    return Attention::workspace_each(size()) + (rounds<Real> ? Attention::rounded_workspace_each(size(), tokens) : 0);
  }
  Scratch<Arithmetic<Real>> scratch(std::int64_t worker) const { return {workspace + worker * workspace_each(), size(), tokens}; }

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
            .scale = static_cast<Arithmetic<Real>>(1 / std::sqrt(static_cast<double>(size()))),
            .mask = mask};
  }
};

}  // namespace
}  // namespace attention

template <class Real>
void forward(const Attention& op, OpContext<Real>& context) {
  using namespace attention;
  const Tile<Real> tile(op, context);
  const DropoutMask mask(context.dropout_key(op.name), op.dropout_rate);
  const bool drops = context.training && op.dropout_rate > 0;
  for_rows("wsc::kernels::attention_forward", context.exec(), tile.workers, [=](std::int64_t worker) {
    const Scratch<Arithmetic<Real>> scratch = tile.scratch(worker);
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
  using namespace attention;
  const Tile<Real> tile(op, context);
  const DropoutMask mask(context.dropout_key(op.name), op.dropout_rate);
  const bool drops = context.training && op.dropout_rate > 0;
  const Real* const dy = context.gradient(op.y).data();
  const GradientOut<Real> dqkv = context.gradient_out(op.qkv);
  for_rows("wsc::kernels::attention_backward", context.exec(), tile.workers, [=](std::int64_t worker) {
    const Scratch<Arithmetic<Real>> scratch = tile.scratch(worker);
    for (std::int64_t n = worker; n < tile.count; n += tile.workers) {
      const Head<Real> head = tile.head(n, drops ? &mask : nullptr);
      const std::int64_t row = tile.first_row(n), column = tile.first_column(n);
      Real* const dq = dqkv.value.data() + row * head.qkv_stride + column;
      const HeadGradients<Real> g{dy + row * head.y_stride + column, dq, dq + tile.width, dq + 2 * tile.width, dqkv.accumulate};
      backward_head(head, g, scratch);
    }
  });
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(Attention, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
