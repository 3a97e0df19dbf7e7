// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {
namespace {

/// y[r, o] = bias[o]: what the product is then added to.  y: (rows, out).
template <class Real>
void broadcast_bias(const Exec& exec, const Matrix<Real>& y, const Real* bias) {
  const std::int64_t out = y.extent(1);
  Real* const data = y.data();
  for_rows(
      "wsc::kernels::broadcast_bias", exec, y.extent(0), KOKKOS_LAMBDA(std::int64_t r) {
        Real* const row = data + r * out;
#pragma omp simd
        for (std::int64_t c = 0; c < out; ++c) row[c] = bias[c];
      });
}

}  // namespace

template <class Real>
void forward(const Linear& op, OpContext<Real>& context) {
  const Exec& exec = context.exec();
  const std::int64_t rows = context.rows().count;
  const Matrix<Real> x = context.value(op.x), y = context.value(op.y);
  const Matrix<const Real> weight = context.weight(op.weight);
  const bool has_bias = op.bias.valid();
  if (has_bias) broadcast_bias(exec, y, context.weight(op.bias).data());
  gemm<Real>(exec, Transpose::no, Transpose::yes, rows, op.out, op.in, 1, {x.data(), op.in}, {weight.data(), op.in}, has_bias ? 1 : 0,
             y.data(), op.out);
}

template <class Real>
void backward(const Linear& op, OpContext<Real>& context) {
  const Exec& exec = context.exec();
  const std::int64_t rows = context.rows().count;
  const Matrix<Real> x = context.value(op.x);
  const Matrix<const Real> dy = context.gradient(op.y), weight = context.weight(op.weight);
  const Matrix<Real> dweight = context.weight_gradient(op.weight);
  const GradientOut<Real> dx = context.gradient_out(op.x);
  // dx = dy · weight
  gemm<Real>(exec, Transpose::no, Transpose::no, rows, op.in, op.out, 1, {dy.data(), op.out}, {weight.data(), op.in}, dx.accumulate ? 1 : 0,
             dx.value.data(), op.in);
  // dweight += dyᵀ · x
  gemm<Real>(exec, Transpose::yes, Transpose::no, op.out, op.in, rows, 1, {dy.data(), op.out}, {x.data(), op.in}, 1, dweight.data(), op.in);
  if (op.bias.valid()) add_column_sums(exec, dy, context.weight_gradient(op.bias).data());
}

template void forward(const Linear&, OpContext<float>&);
template void forward(const Linear&, OpContext<double>&);
template void backward(const Linear&, OpContext<float>&);
template void backward(const Linear&, OpContext<double>&);

}  // namespace wsc::kernels
