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
  using A = Arithmetic<Real>;
  const A highest = max_of(logits, vocab);
  return static_cast<double>(highest) + std::log(sum_of<A>(vocab, [=](std::int64_t j) { return exponential(load(logits[j]) - highest); }));
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
            mask(r) ? log_sum_exp(row, vocab) - static_cast<double>(load(row[labels(r)])) : 0.0;  // a masked row's label may be anything
      });
}

/// logits become their gradients: mask · (exp(logits − log sum) − one-hot) · scale, the log sum being loss + logits[label].
template <class Real>
void differentiate_in_place(const CrossEntropy& op, OpContext<Real>& context) {
  using A = Arithmetic<Real>;
  const std::int64_t vocab = op.vocab;
  const TokenIds labels = context.rows().labels;
  const auto mask = context.rows().loss_mask;
  const A gradient_scale = static_cast<A>(context.gradient_scale);
  Real* const logits = context.value(op.logits).data();
  const Vector<double> row_loss = context.row_loss();
  for_rows(
      "wsc::kernels::cross_entropy_backward", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        Real* const row = logits + r * vocab;
        if (!mask(r)) {
          for (std::int64_t j = 0; j < vocab; ++j) store(row[j], 0);
          return;
        }
        Real& at_label = row[labels(r)];
        const A label_logit = load(at_label), log_sum = static_cast<A>(row_loss(r) + static_cast<double>(label_logit));
#pragma omp simd
        for (std::int64_t j = 0; j < vocab; ++j) store(row[j], exponential(load(row[j]) - log_sum) * gradient_scale);
        if constexpr (rounds<Real>)  // a probability near 1 rounds to 1: the difference is made first
          store(at_label, (exponential(label_logit - log_sum) - 1) * gradient_scale);
        else
          at_label -= gradient_scale;
      });
}

}  // namespace

template <class Real>
void forward(const CrossEntropy& op, OpContext<Real>& context) {
  const Matrix<Real> x = context.value(op.x), logits = context.value(op.logits);
  product<Real>(context.exec(), Transpose::no, Transpose::yes, context.rows().count, op.vocab, op.width, {x.data(), op.width},
                {context.weight(op.table).data(), op.width}, {}, logits.data(), op.vocab, context.workspace());
  losses(op, context);
}

/// Reads row_loss as forward left it.
template <class Real>
void backward(const CrossEntropy& op, OpContext<Real>& context) {
  const Exec& exec = context.exec();
  const std::int64_t rows = context.rows().count;
  differentiate_in_place(op, context);
  const Matrix<Real> x = context.value(op.x), dlogits = context.value(op.logits);
  const GradientOut<Real> dx = context.gradient_out(op.x);
  product<Real>(exec, Transpose::no, Transpose::no, rows, op.width, op.vocab, {dlogits.data(), op.vocab},
                {context.weight(op.table).data(), op.width}, {dx.accumulate ? dx.value.data() : nullptr, op.width}, dx.value.data(),
                op.width, context.workspace());
  add_product<Real>(exec, Transpose::yes, Transpose::no, op.vocab, op.width, rows, {dlogits.data(), op.vocab}, {x.data(), op.width},
                    context.weight_gradient(op.table).data(), op.width, context.workspace());
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(CrossEntropy, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
