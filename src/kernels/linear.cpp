// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {
template <class Real>
void forward(const Linear& op, OpContext<Real>& context) {
  const Matrix<Real> x = context.value(op.x), y = context.value(op.y);
  Addend<Real> addend{nullptr, op.out, nullptr};
  if (op.residual.valid()) addend.matrix = context.value(op.residual).data();
  if (op.bias.valid()) addend.row = context.weight(op.bias).data();
  product<Real>(context.exec(), Transpose::no, Transpose::yes, context.rows().count, op.out, op.in, {x.data(), op.in},
                {context.weight(op.weight).data(), op.in}, addend, y.data(), op.out, context.workspace());
}

template <class Real>
void backward(const Linear& op, OpContext<Real>& context) {
  const Exec& exec = context.exec();
  const std::int64_t rows = context.rows().count;
  const Matrix<Real> x = context.value(op.x);
  const Matrix<const Real> dy = context.gradient(op.y), weight = context.weight(op.weight);
  const GradientOut<Real> dx = context.gradient_out(op.x);
  // dx = dy · weight
  product<Real>(exec, Transpose::no, Transpose::no, rows, op.in, op.out, {dy.data(), op.out}, {weight.data(), op.in},
                {dx.accumulate ? dx.value.data() : nullptr, op.in}, dx.value.data(), op.in, context.workspace());
  // dweight += dyᵀ · x
  add_product<Real>(exec, Transpose::yes, Transpose::no, op.out, op.in, rows, {dy.data(), op.out}, {x.data(), op.in},
                    context.weight_gradient(op.weight).data(), op.in, context.workspace());
  if (op.bias.valid()) add_column_sums(exec, dy, context.workspace(), context.weight_gradient(op.bias).data());
  if (op.residual.valid()) pass_gradient(exec, dy, context.gradient_out(op.residual));
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(Linear, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
