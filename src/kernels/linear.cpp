// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {
namespace {

/// y[r, o] = residual[r, o] + bias[o], of those that are there: what the product is then added to.  y: (rows, out).
template <class Real>
void preload(const Exec& exec, const Matrix<Real>& y, const Real* residual, const Real* bias) {
  const std::int64_t out = y.extent(1);
  Real* const data = y.data();
  for_rows(
      "wsc::kernels::linear_preload", exec, y.extent(0), KOKKOS_LAMBDA(std::int64_t r) {
        Real* const row = data + r * out;
        const Real* const from = residual ? residual + r * out : nullptr;
        if (from && bias) {
#pragma omp simd
          for (std::int64_t c = 0; c < out; ++c) row[c] = from[c] + bias[c];
        } else {
          const Real* const only = from ? from : bias;
#pragma omp simd
          for (std::int64_t c = 0; c < out; ++c) row[c] = only[c];
        }
      });
}

}  // namespace

template <class Real>
void forward(const Linear& op, OpContext<Real>& context) {
  const Exec& exec = context.exec();
  const std::int64_t rows = context.rows().count;
  const Matrix<Real> x = context.value(op.x), y = context.value(op.y);
  const Matrix<const Real> weight = context.weight(op.weight);
  const Real* const residual = op.residual.valid() ? context.value(op.residual).data() : nullptr;
  const Real* const bias = op.bias.valid() ? context.weight(op.bias).data() : nullptr;
  const bool adds = residual || bias;
  if (adds) preload(exec, y, residual, bias);
  gemm<Real>(exec, Transpose::no, Transpose::yes, rows, op.out, op.in, 1, {x.data(), op.in}, {weight.data(), op.in}, adds ? 1 : 0, y.data(),
             op.out);
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
  if (op.bias.valid()) add_column_sums(exec, dy, context.workspace(), context.weight_gradient(op.bias).data());
  if (op.residual.valid()) pass_gradient(exec, dy, context.gradient_out(op.residual));
}

template void forward(const Linear&, OpContext<float>&);
template void forward(const Linear&, OpContext<double>&);
template void backward(const Linear&, OpContext<float>&);
template void backward(const Linear&, OpContext<double>&);

}  // namespace wsc::kernels
