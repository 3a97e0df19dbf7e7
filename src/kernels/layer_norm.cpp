// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {

template <class Real>
void forward(const LayerNorm& op, OpContext<Real>& context) {
  using A = Arithmetic<Real>;
  const std::int64_t width = op.width;
  const double epsilon = op.epsilon;
  const Real* const x = context.value(op.x).data();
  Real* const y = context.value(op.y).data();
  A* const means = context.statistic(op.mean).data();
  A* const inverse_sds = context.statistic(op.inverse_sd).data();
  const Real* const gain = context.weight(op.gain).data();
  const Real* const bias = context.weight(op.bias).data();
  for_rows(
      "wsc::kernels::layer_norm_forward", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        const Real* const in = x + r * width;
        Real* const out = y + r * width;
        const A mean = static_cast<A>(sum_of<A>(width, [in](std::int64_t c) { return load(in[c]); }) / width);
        const double variance =
            sum_of<A>(width, [in, mean](std::int64_t c) { return (load(in[c]) - mean) * (load(in[c]) - mean); }) / width;
        const A inverse_sd = static_cast<A>(1 / std::sqrt(variance + epsilon));
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) store(out[c], (load(in[c]) - mean) * inverse_sd * load(gain[c]) + load(bias[c]));
        means[r] = mean;
        inverse_sds[r] = inverse_sd;
      });
}

/// With n = (x − mean) / sd and g = dy · gain: dx = (g − average(g) − n · average(g n)) / sd, dgain += Σ dy · n, dbias += Σ dy over the
/// rows. One pass.
template <class Real>
void backward(const LayerNorm& op, OpContext<Real>& context) {
  using A = Arithmetic<Real>;
  const std::int64_t rows = context.rows().count, width = op.width;
  const Real* const x = context.value(op.x).data();
  const A* const means = context.statistic(op.mean).data();
  const A* const inverse_sds = context.statistic(op.inverse_sd).data();
  const Real* const gain = context.weight(op.gain).data();
  const Real* const dy = context.gradient(op.y).data();
  const GradientOut<Real> dx = context.gradient_out(op.x);
  Real* const to = dx.value.data();
  const bool accumulate = dx.accumulate;
  A* const partials = context.workspace().data();
  add_row_terms(
      "wsc::kernels::layer_norm_backward", context.exec(), rows, 2 * width, partials, KOKKOS_LAMBDA(std::int64_t r, A * partial) {
        const Real* const in = x + r * width;
        const Real* const d = dy + r * width;
        Real* const out = to + r * width;
        const A mean = means[r], inverse_sd = inverse_sds[r];
        const A average = static_cast<A>(sum_of<A>(width, [=](std::int64_t c) { return load(d[c]) * load(gain[c]); }) / width);
        const A slope = static_cast<A>(
            sum_of<A>(width, [=](std::int64_t c) { return load(d[c]) * load(gain[c]) * (load(in[c]) - mean) * inverse_sd; }) / width);
        if (!accumulate) {  // what is there may be anything, NaN too
          for (std::int64_t c = 0; c < width; ++c) store(out[c], 0);
        }
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
          const A n = (load(in[c]) - mean) * inverse_sd, g = load(d[c]);
          partial[c] += g * n;
          partial[width + c] += g;
          store(out[c], load(out[c]) + inverse_sd * (g * load(gain[c]) - average - n * slope));
        }
      });
  add_partials<A>("wsc::kernels::layer_norm_gain", context.exec(), rows, width, partials, 2 * width,
                  context.weight_gradient(op.gain).data());
  add_partials<A>("wsc::kernels::layer_norm_bias", context.exec(), rows, width, partials + width, 2 * width,
                  context.weight_gradient(op.bias).data());
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(LayerNorm, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
