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

/// With n = (x − mean) / sd and g = dy · gain: dx = (g − average(g) − n · average(g n)) / sd, dgain += Σ dy · n, dbias += Σ dy over the
/// rows. One pass.
template <class Real>
void backward(const LayerNorm& op, OpContext<Real>& context) {
  const std::int64_t rows = context.rows().count, width = op.width;
  const Real* const x = context.value(op.x).data();
  const Real* const means = context.value(op.mean).data();
  const Real* const inverse_sds = context.value(op.inverse_sd).data();
  const Real* const gain = context.weight(op.gain).data();
  const Real* const dy = context.gradient(op.y).data();
  const GradientOut<Real> dx = context.gradient_out(op.x);
  Real* const to = dx.value.data();
  const bool accumulate = dx.accumulate;
  Real* const partials = context.workspace().data();
  add_row_terms(
      "wsc::kernels::layer_norm_backward", context.exec(), rows, 2 * width, partials, KOKKOS_LAMBDA(std::int64_t r, Real * partial) {
        const Real* const in = x + r * width;
        const Real* const d = dy + r * width;
        Real* const out = to + r * width;
        const Real mean = means[r], inverse_sd = inverse_sds[r];
        const Real average = static_cast<Real>(sum_of<Real>(width, [=](std::int64_t c) { return d[c] * gain[c]; }) / width);
        const Real slope =
            static_cast<Real>(sum_of<Real>(width, [=](std::int64_t c) { return d[c] * gain[c] * (in[c] - mean) * inverse_sd; }) / width);
        if (!accumulate) {  // what is there may be anything, NaN too
          for (std::int64_t c = 0; c < width; ++c) out[c] = 0;
        }
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
          const Real n = (in[c] - mean) * inverse_sd;
          partial[c] += d[c] * n;
          partial[width + c] += d[c];
          out[c] += inverse_sd * (d[c] * gain[c] - average - n * slope);
        }
      });
  add_partials<Real>("wsc::kernels::layer_norm_gain", context.exec(), rows, width, partials, 2 * width,
                     context.weight_gradient(op.gain).data());
  add_partials<Real>("wsc::kernels::layer_norm_bias", context.exec(), rows, width, partials + width, 2 * width,
                     context.weight_gradient(op.bias).data());
}

template void forward(const LayerNorm&, OpContext<float>&);
template void forward(const LayerNorm&, OpContext<double>&);
template void backward(const LayerNorm&, OpContext<float>&);
template void backward(const LayerNorm&, OpContext<double>&);

}  // namespace wsc::kernels
