// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/dropout_mask.hpp"
#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {
namespace {

/// out (+)= in · factor, factors drawn anew: the same in forward and backward. in, out: (rows, C), may be the same memory.
template <class Real>
void multiply_by_factors(const Dropout& op, const OpContext<Real>& context, const Real* in, Real* out, bool accumulate) {
  constexpr std::int64_t piece = 256;
  const std::int64_t width = op.width;
  const DropoutMask mask(context.dropout_key(op.name), op.rate);
  const auto sample = context.rows().sample;
  const auto token = context.rows().token;
  for_rows(
      "wsc::kernels::dropout", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        Arithmetic<Real> factor[piece];
        for (std::int64_t begin = 0; begin < width; begin += piece) {
          const std::int64_t count = width - begin < piece ? width - begin : piece;
          mask.factors(sample(r), token(r) * width + begin, count, factor);
          const Real* const from = in + r * width + begin;
          Real* const to = out + r * width + begin;
          if (accumulate) {
#pragma omp simd
            for (std::int64_t c = 0; c < count; ++c) store(to[c], load(to[c]) + load(from[c]) * factor[c]);
          } else {
#pragma omp simd
            for (std::int64_t c = 0; c < count; ++c) store(to[c], load(from[c]) * factor[c]);
          }
        }
      });
}

template <class Real>
bool acts(const Dropout& op, const OpContext<Real>& context) {
  return context.training && op.rate > 0;
}

}  // namespace

template <class Real>
void forward(const Dropout& op, OpContext<Real>& context) {
  const Matrix<Real> x = context.value(op.x), y = context.value(op.y);
  if (acts(op, context))
    multiply_by_factors(op, context, x.data(), y.data(), false);
  else
    copy<Real>(context.exec(), flat(y), flat(x));
}

template <class Real>
void backward(const Dropout& op, OpContext<Real>& context) {
  const Matrix<const Real> dy = context.gradient(op.y);
  const GradientOut<Real> dx = context.gradient_out(op.x);
  if (acts(op, context))
    multiply_by_factors(op, context, dy.data(), dx.value.data(), dx.accumulate);
  else
    pass_gradient(context.exec(), dy, dx);
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(Dropout, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
