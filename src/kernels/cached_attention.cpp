// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/cached_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wsc/base/error.hpp"
#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/vector_math.hpp"

namespace wsc::kernels {
namespace {

/// Elements from one row of a score block to the next: whole cache lines, and not a multiple of a page where T is one.
constexpr std::int64_t score_stride(std::int64_t tokens) { return (tokens + 15) / 16 * 16 + 16; }

/// One head: pointers to the first new query, the first cached key and value, the first new result. Queries are 3C apart, the rest C.
template <class Real>
struct CachedHead {
  std::int64_t size, width;  // D, C
  const Real *q, *k, *v;
  Real *y, *scores;
  std::int64_t score_stride;
};

/// The first `visible` scores of a query become exp(score − maximum), those up to `keys` zero. Returns 1 / their sum.
template <class Real>
Real exponentials(Real* row, std::int64_t visible, std::int64_t keys) {
  Real most = -std::numeric_limits<Real>::infinity();
#pragma omp simd reduction(max : most)
  for (std::int64_t j = 0; j < visible; ++j) most = row[j] > most ? row[j] : most;
#pragma omp simd
  for (std::int64_t j = 0; j < visible; ++j) row[j] = exponential(row[j] - most);
  for (std::int64_t j = visible; j < keys; ++j) row[j] = 0;
  return static_cast<Real>(1 / sum_of<Real>(visible, [row](std::int64_t j) { return row[j]; }));
}

/// New queries [first, first + count); the last of them sees `keys` tokens.
template <class Real>
void attend(const Exec& exec, const CachedHead<Real>& head, std::int64_t first, std::int64_t count, std::int64_t keys) {
  const Real scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(head.size)));
  Real* const y = head.y + first * head.width;
  Real inverse_sum[Attention::query_block];
  gemm<Real>(exec, Transpose::no, Transpose::yes, count, keys, head.size, scale, {head.q + first * 3 * head.width, 3 * head.width},
             {head.k, head.width}, 0, head.scores, head.score_stride);
  for (std::int64_t r = 0; r < count; ++r) inverse_sum[r] = exponentials(head.scores + r * head.score_stride, keys - count + r + 1, keys);
  gemm<Real>(exec, Transpose::no, Transpose::no, count, head.size, keys, 1, {head.scores, head.score_stride}, {head.v, head.width}, 0, y,
             head.width);
  for (std::int64_t r = 0; r < count; ++r) {
#pragma omp simd
    for (std::int64_t d = 0; d < head.size; ++d) y[r * head.width + d] *= inverse_sum[r];
  }
}

template <class Real>
void append(const Exec& exec, std::int64_t width, const Matrix<const Real>& qkv, const KeyValueCache<Real>& cache, std::int64_t length) {
  const Real* const from = qkv.data();
  Real *const keys = cache.keys.data() + length * width, *const values = cache.values.data() + length * width;
  for_rows(
      "wsc::kernels::cache_append", exec, qkv.extent(0), KOKKOS_LAMBDA(std::int64_t r) {
        const Real *const k = from + (3 * r + 1) * width, *const v = k + width;
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
          keys[r * width + c] = k[c];
          values[r * width + c] = v[c];
        }
      });
}

}  // namespace

std::int64_t cached_attention_workspace(std::int64_t positions, int threads) {
  return Attention::query_block * score_stride(positions) * threads;
}

template <class Real>
void cached_attention(const Exec& exec, const Attention& op, Matrix<const Real> qkv, const KeyValueCache<Real>& cache, std::int64_t length,
                      Matrix<Real> y, Vector<Real> workspace) {
  const std::int64_t rows = qkv.extent(0), positions = cache.keys.extent(0), width = op.width, size = width / op.heads, heads = op.heads;
  WSC_EXPECT(length >= 0 && length + rows <= positions && y.extent(0) == qkv.extent(0));
  const std::int64_t block = cached_attention_workspace(positions, 1), available = workspace.extent(0) / block;
  WSC_EXPECT(available >= 1);
  const std::int64_t workers = std::min({available, heads, static_cast<std::int64_t>(exec.concurrency())});
  append(exec, width, qkv, cache, length);
  const Real *const q = qkv.data(), *const keys = cache.keys.data(), *const values = cache.values.data();
  Real *const out = y.data(), *const scores = workspace.data();
  for_rows("wsc::kernels::cached_attention", exec, workers, [=](std::int64_t worker) {
    for (std::int64_t h = worker; h < heads; h += workers) {
      const std::int64_t column = h * size;
      const CachedHead<Real> head{
          size, width, q + column, keys + column, values + column, out + column, scores + worker * block, score_stride(positions)};
      for (std::int64_t i = 0; i < rows; i += Attention::query_block) {
        const std::int64_t count = std::min(Attention::query_block, rows - i);
        attend(exec, head, i, count, length + i + count);
      }
    }
  });
}

template void cached_attention(const Exec&, const Attention&, Matrix<const float>, const KeyValueCache<float>&, std::int64_t, Matrix<float>,
                               Vector<float>);
template void cached_attention(const Exec&, const Attention&, Matrix<const double>, const KeyValueCache<double>&, std::int64_t,
                               Matrix<double>, Vector<double>);

}  // namespace wsc::kernels
