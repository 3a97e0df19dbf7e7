// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {

template <class Real>
void forward(const Add& op, OpContext<Real>& context) {
  const Real* const a = context.value(op.a).data();
  const Real* const b = context.value(op.b).data();
  Real* const y = context.value(op.y).data();
  for_chunks(
      "wsc::kernels::add_forward", context.exec(), context.rows().count * op.width, KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) store(y[i], load(a[i]) + load(b[i]));
      });
}

/// da = dy, db = dy. One after the other: a and b may be the same tensor.
template <class Real>
void backward(const Add& op, OpContext<Real>& context) {
  const Matrix<const Real> dy = context.gradient(op.y);
  pass_gradient(context.exec(), dy, context.gradient_out(op.a));
  pass_gradient(context.exec(), dy, context.gradient_out(op.b));
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(Add, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
