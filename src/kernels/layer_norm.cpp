// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {

template <class Real>
void forward(const LayerNorm& op, OpContext<Real>& context) {
  const std::int64_t width = op.width;
  const double epsilon = op.epsilon;
  const Real* const x = context.value(op.x).data();
  Real* const y = context.value(op.y).data();
  Real* const means = context.value(op.mean).data();
  Real* const inverse_sds = context.value(op.inverse_sd).data();
  const Real* const gain = context.weight(op.gain).data();
  const Real* const bias = context.weight(op.bias).data();
  for_rows(
      "wsc::kernels::layer_norm_forward", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        const Real* const in = x + r * width;
        Real* const out = y + r * width;
        const Real mean = static_cast<Real>(sum_of<Real>(width, [in](std::int64_t c) { return in[c]; }) / width);
        const double variance = sum_of<Real>(width, [in, mean](std::int64_t c) { return (in[c] - mean) * (in[c] - mean); }) / width;
        const Real inverse_sd = static_cast<Real>(1 / std::sqrt(variance + epsilon));
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) out[c] = (in[c] - mean) * inverse_sd * gain[c] + bias[c];
        means[r] = mean;
        inverse_sds[r] = inverse_sd;
      });
}

namespace {

/// With n = (x − mean) / sd and g = dy · gain: dx = (g − average(g) − n · average(g n)) / sd.
template <class Real>
void input_gradient(const LayerNorm& op, OpContext<Real>& context, const GradientOut<Real>& dx) {
  const std::int64_t width = op.width;
  const Real* const x = context.value(op.x).data();
  const Real* const means = context.value(op.mean).data();
  const Real* const inverse_sds = context.value(op.inverse_sd).data();
  const Real* const gain = context.weight(op.gain).data();
  const Real* const dy = context.gradient(op.y).data();
  Real* const to = dx.value.data();
  const bool accumulate = dx.accumulate;
  for_rows(
      "wsc::kernels::layer_norm_backward", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        const Real* const in = x + r * width;
        const Real* const d = dy + r * width;
        Real* const out = to + r * width;
        const Real mean = means[r], inverse_sd = inverse_sds[r];
        const Real average = static_cast<Real>(sum_of<Real>(width, [=](std::int64_t c) { return d[c] * gain[c]; }) / width);
        const Real slope =
            static_cast<Real>(sum_of<Real>(width, [=](std::int64_t c) { return d[c] * gain[c] * (in[c] - mean) * inverse_sd; }) / width);
        if (accumulate) {
#pragma omp simd
          for (std::int64_t c = 0; c < width; ++c) out[c] += inverse_sd * (d[c] * gain[c] - average - (in[c] - mean) * inverse_sd * slope);
        } else {
#pragma omp simd
          for (std::int64_t c = 0; c < width; ++c) out[c] = inverse_sd * (d[c] * gain[c] - average - (in[c] - mean) * inverse_sd * slope);
        }
      });
}

/// dgain += Σ dy · n, dbias += Σ dy over the rows: 64 rows in Real, these pieces in double, in row order.
template <class Real>
void weight_gradients(const LayerNorm& op, OpContext<Real>& context) {
  const std::int64_t rows = context.rows().count, width = op.width;
  const Real* const x = context.value(op.x).data();
  const Real* const means = context.value(op.mean).data();
  const Real* const inverse_sds = context.value(op.inverse_sd).data();
  const Real* const dy = context.gradient(op.y).data();
  Real* const dgain = context.weight_gradient(op.gain).data();
  Real* const dbias = context.weight_gradient(op.bias).data();
  for_column_groups(
      "wsc::kernels::layer_norm_weights", context.exec(), width, KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        double gain_total[column_chunk] = {}, bias_total[column_chunk] = {};
        for (std::int64_t begin = 0; begin < rows; begin += 64) {
          const std::int64_t end = begin + 64 < rows ? begin + 64 : rows;
          Real gain_piece[column_chunk] = {}, bias_piece[column_chunk] = {};
          for (std::int64_t r = begin; r < end; ++r) {
            const Real* const in = x + r * width + first;
            const Real* const d = dy + r * width + first;
            const Real mean = means[r], inverse_sd = inverse_sds[r];
#pragma omp simd
            for (std::int64_t c = 0; c < count; ++c) {
              gain_piece[c] += d[c] * ((in[c] - mean) * inverse_sd);
              bias_piece[c] += d[c];
            }
          }
          for (std::int64_t c = 0; c < count; ++c) {
            gain_total[c] += gain_piece[c];
            bias_total[c] += bias_piece[c];
          }
        }
        for (std::int64_t c = 0; c < count; ++c) {
          dgain[first + c] += static_cast<Real>(gain_total[c]);
          dbias[first + c] += static_cast<Real>(bias_total[c]);
        }
      });
}

}  // namespace

template <class Real>
void backward(const LayerNorm& op, OpContext<Real>& context) {
  weight_gradients(op, context);  // first: dx may share memory with dy
  input_gradient(op, context, context.gradient_out(op.x));
}

template void forward(const LayerNorm&, OpContext<float>&);
template void forward(const LayerNorm&, OpContext<double>&);
template void backward(const LayerNorm&, OpContext<float>&);
template void backward(const LayerNorm&, OpContext<double>&);

}  // namespace wsc::kernels
