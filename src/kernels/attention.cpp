// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "wsc/base/error.hpp"
#include "wsc/kernels/dropout_mask.hpp"
#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"
#include "wsc/kernels/vector_math.hpp"

namespace wsc::kernels {
namespace {

/// One head of one sample: pointers to its first row. q, k, v have rows 3C apart, y C, log_sum H. Score blocks: (query_block, T).
template <class Real>
struct Head {
  std::int64_t tokens, size;                      // T, D
  std::int64_t qkv_stride, y_stride, sum_stride;  // 3C, C, H
  const Real *q, *k, *v;
  Real *y, *log_sum;
  const std::int32_t* span;             // null: plain causal
  std::uint64_t sample, first_element;  // dropout: element of (i, j) is first_element + i T + j
  Real *scores, *score_gradients;
  std::int64_t score_stride;
  Real scale;  // 1 / √D
};

/// Query rows [first, first + count) and the keys [first_key, first_key + keys) that any of them may see.
struct Block {
  std::int64_t first, count, first_key, keys;
};

template <class Real>
KOKKOS_INLINE_FUNCTION Block block_at(const Head<Real>& head, std::int64_t first) {
  const std::int64_t rest = head.tokens - first;
  const std::int64_t count = rest < Attention::query_block ? rest : Attention::query_block;
  std::int64_t first_key = 0;
  if (head.span) {  // documents that end before the block are skipped
    while (first_key < first && first_key + head.span[first_key] < first) ++first_key;
  }
  return {first, count, first_key, first + count - first_key};
}

/// Hides what query i does not see: row[j] = −∞ for keys outside its document. `visible` keys from first_key on are at or before i.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void hide(const Head<Real>& head, const Block& block, std::int64_t i, std::int64_t visible, Real* row) {
  if (!head.span) return;
  constexpr Real hidden = -std::numeric_limits<Real>::infinity();
  const std::int32_t* const span = head.span + block.first_key;
  const std::int32_t distance = static_cast<std::int32_t>(i - block.first_key);
#pragma omp simd
  for (std::int64_t j = 0; j < visible; ++j) row[j] = static_cast<std::int32_t>(j) + span[j] >= distance ? row[j] : hidden;
}

/// scores = scale · q kᵀ of a block.  (count, keys)
template <class Real>
void score_block(const Exec& exec, const Head<Real>& head, const Block& b) {
  gemm<Real>(exec, Transpose::no, Transpose::yes, b.count, b.keys, head.size, head.scale,
             {head.q + b.first * head.qkv_stride, head.qkv_stride}, {head.k + b.first_key * head.qkv_stride, head.qkv_stride}, 0,
             head.scores, head.score_stride);
}

/// A row of scores becomes exp(score − maximum); returns their sum and sets the maximum. A row that sees nothing gives zeros.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION double exponentials(Real* row, std::int64_t visible, Real& highest) {
  Real most = max_of(row, visible);
  if (most == -std::numeric_limits<Real>::infinity()) most = 0;
#pragma omp simd
  for (std::int64_t j = 0; j < visible; ++j) row[j] = exponential(row[j] - most);
  highest = most;
  return sum_of<Real>(visible, [row](std::int64_t j) { return row[j]; });
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void zero_rest(Real* row, std::int64_t from, std::int64_t to) {
  for (std::int64_t j = from; j < to; ++j) row[j] = 0;
}

/// Multiplies a row of query i by the dropout factors of its keys.
template <class Real>
void drop(const Head<Real>& head, const DropoutMask& mask, const Block& b, std::int64_t i, std::int64_t visible, Real* row) {
  constexpr std::int64_t piece = 256;
  Real factor[piece];
  for (std::int64_t begin = 0; begin < visible; begin += piece) {
    const std::int64_t count = visible - begin < piece ? visible - begin : piece;
    mask.factors(head.sample, head.first_element + i * head.tokens + b.first_key + begin, count, factor);
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) row[begin + j] *= factor[j];
  }
}

template <class Real>
void forward_block(const Exec& exec, const Head<Real>& head, const Block& b, const DropoutMask* mask) {
  Real inverse_sum[Attention::query_block];
  score_block(exec, head, b);
  for (std::int64_t r = 0; r < b.count; ++r) {
    const std::int64_t i = b.first + r, visible = i - b.first_key + 1;
    Real* const row = head.scores + r * head.score_stride;
    hide(head, b, i, visible, row);
    Real highest;
    const double sum = exponentials(row, visible, highest);
    inverse_sum[r] = sum == 0 ? Real(0) : static_cast<Real>(1 / sum);
    // Infinity for a row that sees nothing: backward's exp(score − log sum) is then 0.
    head.log_sum[i * head.sum_stride] =
        sum == 0 ? std::numeric_limits<Real>::infinity() : static_cast<Real>(static_cast<double>(highest) + std::log(sum));
    if (mask) drop(head, *mask, b, i, visible, row);
    zero_rest(row, visible, b.keys);
  }
  Real* const y = head.y + b.first * head.y_stride;
  gemm<Real>(exec, Transpose::no, Transpose::no, b.count, head.size, b.keys, 1, {head.scores, head.score_stride},
             {head.v + b.first_key * head.qkv_stride, head.qkv_stride}, 0, y, head.y_stride);
  for (std::int64_t r = 0; r < b.count; ++r) {
#pragma omp simd
    for (std::int64_t d = 0; d < head.size; ++d) y[r * head.y_stride + d] *= inverse_sum[r];
  }
}

/// Gradients of one head, rows as far apart as those of q, k, v.
template <class Real>
struct HeadGradients {
  const Real* dy;  // rows C apart
  Real *dq, *dk, *dv;
  bool accumulate;
};

/// With p the probabilities, m the dropout factors and δ = Σ dy y of a query: scores become p m, score gradients p (m dp − δ).
template <class Real>
void differentiate_row(const Head<Real>& head, const HeadGradients<Real>& g, const Block& b, std::int64_t r, const DropoutMask* mask) {
  const std::int64_t i = b.first + r, visible = i - b.first_key + 1;
  Real* const p = head.scores + r * head.score_stride;
  Real* const dp = head.score_gradients + r * head.score_stride;
  const Real* const y = head.y + i * head.y_stride;
  const Real* const dy = g.dy + i * head.y_stride;
  const Real log_sum = head.log_sum[i * head.sum_stride];
  const Real delta = static_cast<Real>(sum_of<Real>(head.size, [=](std::int64_t d) { return dy[d] * y[d]; }));
  hide(head, b, i, visible, p);
  if (mask) {
    drop(head, *mask, b, i, visible, dp);
#pragma omp simd
    for (std::int64_t j = 0; j < visible; ++j) {
      p[j] = exponential(p[j] - log_sum);
      dp[j] = p[j] * (dp[j] - delta);
    }
    drop(head, *mask, b, i, visible, p);
  } else {
#pragma omp simd
    for (std::int64_t j = 0; j < visible; ++j) {
      p[j] = exponential(p[j] - log_sum);
      dp[j] = p[j] * (dp[j] - delta);
    }
  }
  zero_rest(p, visible, b.keys);
  zero_rest(dp, visible, b.keys);
}

template <class Real>
void backward_block(const Exec& exec, const Head<Real>& head, const HeadGradients<Real>& g, const Block& b, const DropoutMask* mask) {
  const std::int64_t query_row = b.first * head.qkv_stride, key_row = b.first_key * head.qkv_stride;
  const Operand<Real> dy{g.dy + b.first * head.y_stride, head.y_stride};
  const Operand<Real> p{head.scores, head.score_stride}, dp{head.score_gradients, head.score_stride};
  score_block(exec, head, b);
  gemm<Real>(exec, Transpose::no, Transpose::yes, b.count, b.keys, head.size, 1, dy, {head.v + key_row, head.qkv_stride}, 0,
             head.score_gradients, head.score_stride);
  for (std::int64_t r = 0; r < b.count; ++r) differentiate_row(head, g, b, r, mask);
  gemm<Real>(exec, Transpose::yes, Transpose::no, b.keys, head.size, b.count, 1, p, dy, 1, g.dv + key_row, head.qkv_stride);
  gemm<Real>(exec, Transpose::no, Transpose::no, b.count, head.size, b.keys, head.scale, dp, {head.k + key_row, head.qkv_stride},
             g.accumulate ? 1 : 0, g.dq + query_row, head.qkv_stride);
  gemm<Real>(exec, Transpose::yes, Transpose::no, b.keys, head.size, b.count, head.scale, dp, {head.q + query_row, head.qkv_stride}, 1,
             g.dk + key_row, head.qkv_stride);
}

/// What all heads of a tile share; head(n, worker) makes the n-th of samples × heads with the score blocks of a worker.
template <class Real>
struct Tile {
  std::int64_t tokens, width, heads, count, workers;
  Real *qkv, *y, *log_sum, *workspace;
  const std::int32_t* span;
  const std::int64_t* sample;

  Tile(const Attention& op, OpContext<Real>& context)
      : tokens(context.rows().tokens),
        width(op.width),
        heads(op.heads),
        count(context.rows().count / tokens * heads),
        qkv(context.value(op.qkv).data()),
        y(context.value(op.y).data()),
        log_sum(context.value(op.log_sum).data()),
        workspace(context.workspace().data()),
        span(context.rows().span.data()),
        sample(context.rows().sample.data()) {
    WSC_EXPECT(context.rows().count % tokens == 0 && width % heads == 0);
    const std::int64_t available = context.workspace().extent(0) / op.workspace({.rows = 0, .tokens = tokens, .threads = 1});
    WSC_EXPECT(available >= 1);
    workers = std::min({available, count, static_cast<std::int64_t>(context.exec().concurrency())});
  }

  std::int64_t first_row(std::int64_t n) const { return n / heads * tokens; }
  std::int64_t first_column(std::int64_t n) const { return n % heads * (width / heads); }

  Head<Real> head(std::int64_t n, std::int64_t worker) const {
    const std::int64_t h = n % heads, size = width / heads, row = first_row(n), column = first_column(n);
    const std::int64_t stride = Attention::score_stride(tokens), block = Attention::query_block * stride;
    const Real* const q = qkv + row * 3 * width + column;
    Real* const scores = workspace + 2 * worker * block;
    return {.tokens = tokens,
            .size = size,
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
            .scores = scores,
            .score_gradients = scores + block,
            .score_stride = stride,
            .scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(size)))};
  }
};

}  // namespace

template <class Real>
void forward(const Attention& op, OpContext<Real>& context) {
  const Exec& exec = context.exec();
  const Tile<Real> tile(op, context);
  const DropoutMask mask(context.dropout_key(op.name), op.dropout_rate);
  const bool drops = context.training && op.dropout_rate > 0;
  for_rows("wsc::kernels::attention_forward", exec, tile.workers, [=](std::int64_t worker) {
    for (std::int64_t n = worker; n < tile.count; n += tile.workers) {
      const Head<Real> head = tile.head(n, worker);
      for (std::int64_t i = 0; i < head.tokens; i += Attention::query_block)
        forward_block(exec, head, block_at(head, i), drops ? &mask : nullptr);
    }
  });
}

/// dqkv; a worker owns a head, so the sums over queries in dk and dv need no atomics.
template <class Real>
void backward(const Attention& op, OpContext<Real>& context) {
  const Exec& exec = context.exec();
  const Tile<Real> tile(op, context);
  const DropoutMask mask(context.dropout_key(op.name), op.dropout_rate);
  const bool drops = context.training && op.dropout_rate > 0;
  const Real* const dy = context.gradient(op.y).data();
  const GradientOut<Real> dqkv = context.gradient_out(op.qkv);
  for_rows("wsc::kernels::attention_backward", exec, tile.workers, [=](std::int64_t worker) {
    for (std::int64_t n = worker; n < tile.count; n += tile.workers) {
      const Head<Real> head = tile.head(n, worker);
      const std::int64_t row = tile.first_row(n), column = tile.first_column(n);
      Real* const dq = dqkv.value.data() + row * head.qkv_stride + column;
      const HeadGradients<Real> g{dy + row * head.y_stride + column, dq, dq + tile.width, dq + 2 * tile.width, dqkv.accumulate};
      for (std::int64_t i = 0; i < head.tokens && !g.accumulate; ++i) {
        zero_rest(g.dk + i * head.qkv_stride, 0, head.size);
        zero_rest(g.dv + i * head.qkv_stride, 0, head.size);
      }
      for (std::int64_t i = 0; i < head.tokens; i += Attention::query_block)
        backward_block(exec, head, g, block_at(head, i), drops ? &mask : nullptr);
    }
  });
}

template void forward(const Attention&, OpContext<float>&);
template void forward(const Attention&, OpContext<double>&);
template void backward(const Attention&, OpContext<float>&);
template void backward(const Attention&, OpContext<double>&);

}  // namespace wsc::kernels
