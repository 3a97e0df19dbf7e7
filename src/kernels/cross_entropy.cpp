// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"
#include "wsc/kernels/vector_math.hpp"

namespace wsc::kernels {
namespace {

/// log Σ exp logits[j] with the maximum taken out; NaN if a logit is NaN: the maximum passes it over, the sum does not.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION double log_sum_exp(const Real* logits, std::int64_t vocab) {
  const Real highest = max_of(logits, vocab);
  return static_cast<double>(highest) + std::log(sum_of<Real>(vocab, [=](std::int64_t j) { return exponential(logits[j] - highest); }));
}

template <class Real>
void losses(const CrossEntropy& op, OpContext<Real>& context) {
  const std::int64_t vocab = op.vocab;
  const TokenIds labels = context.rows().labels;
  const auto mask = context.rows().loss_mask;
  const Real* const logits = context.value(op.logits).data();
  const Vector<double> row_loss = context.row_loss();
  for_rows(
      "wsc::kernels::cross_entropy_forward", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        const Real* const row = logits + r * vocab;
        row_loss(r) =
            mask(r) ? log_sum_exp(row, vocab) - static_cast<double>(row[labels(r)]) : 0.0;  // a masked row's label may be anything
      });
}

/// logits become their gradients: mask · (exp(logits − log sum) − one-hot) · scale, the log sum being loss + logits[label].
template <class Real>
void differentiate_in_place(const CrossEntropy& op, OpContext<Real>& context) {
  const std::int64_t vocab = op.vocab;
  const TokenIds labels = context.rows().labels;
  const auto mask = context.rows().loss_mask;
  const Real gradient_scale = static_cast<Real>(context.gradient_scale);
  Real* const logits = context.value(op.logits).data();
  const Vector<double> row_loss = context.row_loss();
  for_rows(
      "wsc::kernels::cross_entropy_backward", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        Real* const row = logits + r * vocab;
        if (!mask(r)) {
          for (std::int64_t j = 0; j < vocab; ++j) row[j] = 0;
          return;
        }
        const Real log_sum = static_cast<Real>(row_loss(r) + static_cast<double>(row[labels(r)]));
#pragma omp simd
        for (std::int64_t j = 0; j < vocab; ++j) row[j] = exponential(row[j] - log_sum) * gradient_scale;
        row[labels(r)] -= gradient_scale;
      });
}

}  // namespace

template <class Real>
void forward(const CrossEntropy& op, OpContext<Real>& context) {
  const Matrix<Real> x = context.value(op.x), logits = context.value(op.logits);
  const Matrix<const Real> table = context.weight(op.table);
  gemm<Real>(context.exec(), Transpose::no, Transpose::yes, context.rows().count, op.vocab, op.width, 1, {x.data(), op.width},
             {table.data(), op.width}, 0, logits.data(), op.vocab);
  losses(op, context);
}

/// Reads row_loss as forward left it.
template <class Real>
void backward(const CrossEntropy& op, OpContext<Real>& context) {
  const Exec& exec = context.exec();
  const std::int64_t rows = context.rows().count;
  differentiate_in_place(op, context);
  const Matrix<Real> x = context.value(op.x), dlogits = context.value(op.logits);
  const Matrix<const Real> table = context.weight(op.table);
  const GradientOut<Real> dx = context.gradient_out(op.x);
  gemm<Real>(exec, Transpose::no, Transpose::no, rows, op.width, op.vocab, 1, {dlogits.data(), op.vocab}, {table.data(), op.width},
             dx.accumulate ? 1 : 0, dx.value.data(), op.width);
  gemm<Real>(exec, Transpose::yes, Transpose::no, op.vocab, op.width, rows, 1, {dlogits.data(), op.vocab}, {x.data(), op.width}, 1,
             context.weight_gradient(op.table).data(), op.width);
}

template void forward(const CrossEntropy&, OpContext<float>&);
template void forward(const CrossEntropy&, OpContext<double>&);
template void backward(const CrossEntropy&, OpContext<float>&);
template void backward(const CrossEntropy&, OpContext<double>&);

}  // namespace wsc::kernels
