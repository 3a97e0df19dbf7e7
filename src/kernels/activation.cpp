// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"
#include "wsc/kernels/vector_math.hpp"

namespace wsc::kernels {
namespace {

/// x Φ(x); derivative Φ(x) + x φ(x), with φ the normal density.
struct Gelu {
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Real value(Real x) {
    const Real tail = normal_tail(x, exponential(Real(-0.5) * x * x));
    return x * (x > 0 ? 1 - tail : tail);
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Real derivative(Real x) {
    constexpr Real density_at_0 = static_cast<Real>(0.39894228040143267794);  // 1 / √(2π)
    const Real g = exponential(Real(-0.5) * x * x);
    const Real tail = normal_tail(x, g);
    return (x > 0 ? 1 - tail : tail) + x * density_at_0 * g;
  }
};

/// x σ(2u), u = √(2/π) (x + 0.044715 x³): the same as x/2 (1 + tanh u). With e = exp(−2 |u|): σ(2|u|) = 1 / (1 + e), σ(−2|u|) =
/// e / (1 + e) and σ(2u) σ(−2u) = e / (1 + e)², without cancellation and without overflow.
struct GeluTanh {
  static constexpr double slope = 1.59576912160573071176;  // 2 √(2/π)
  static constexpr double cubic = 0.044715;

  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Real decay(Real x) {
    return exponential(-static_cast<Real>(slope) * std::fabs(x) * (1 + static_cast<Real>(cubic) * x * x));
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Real value(Real x) {
    const Real e = decay(x);
    return x * ((x > 0 ? Real(1) : e) / (1 + e));
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Real derivative(Real x) {
    const Real e = decay(x), half = 1 / (1 + e);
    return half * ((x > 0 ? Real(1) : e) + x * e * half * static_cast<Real>(slope) * (1 + static_cast<Real>(3 * cubic) * x * x));
  }
};

/// max(x, 0), written so that a NaN stays one.
struct Relu {
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Real value(Real x) {
    return x < 0 ? Real(0) : x;
  }
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static Real derivative(Real x) {
    return x <= 0 ? Real(0) : Real(1);
  }
};

template <class Function, class Real>
void apply(const Activation& op, OpContext<Real>& context) {
  const std::int64_t width = op.width;
  const Real* const x = context.value(op.x).data();
  const Real* const bias = context.weight(op.bias).data();
  Real* const y = context.value(op.y).data();
  for_rows(
      "wsc::kernels::activation_forward", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        const Real* const in = x + r * width;
        Real* const out = y + r * width;
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) store(out[c], Function::value(load(in[c]) + load(bias[c])));
      });
}

/// dx, and its column sums in the same pass.
template <class Function, class Real>
void differentiate(const Activation& op, OpContext<Real>& context) {
  const std::int64_t rows = context.rows().count, width = op.width;
  const Real* const x = context.value(op.x).data();
  const Real* const bias = context.weight(op.bias).data();
  const Real* const dy = context.gradient(op.y).data();
  const GradientOut<Real> dx = context.gradient_out(op.x);
  Real* const to = dx.value.data();
  const bool accumulate = dx.accumulate;
  using A = Arithmetic<Real>;
  A* const partials = context.workspace().data();
  add_row_terms(
      "wsc::kernels::activation_backward", context.exec(), rows, width, partials, KOKKOS_LAMBDA(std::int64_t r, A * partial) {
        const Real* const in = x + r * width;
        const Real* const d = dy + r * width;
        Real* const out = to + r * width;
        if (accumulate) {
#pragma omp simd
          for (std::int64_t c = 0; c < width; ++c) {
            const A g = load(d[c]) * Function::derivative(load(in[c]) + load(bias[c]));
            partial[c] += g;
            store(out[c], load(out[c]) + g);
          }
        } else {
#pragma omp simd
          for (std::int64_t c = 0; c < width; ++c) {
            const A g = load(d[c]) * Function::derivative(load(in[c]) + load(bias[c]));
            partial[c] += g;
            store(out[c], g);
          }
        }
      });
  add_partials<A>("wsc::kernels::activation_bias", context.exec(), rows, width, partials, width, context.weight_gradient(op.bias).data());
}

/// Calls action with the function object of a nonlinearity.
template <class Action>
void with_function(Nonlinearity f, const Action& action) {
  switch (f) {
    case Nonlinearity::gelu:
      return action(Gelu{});
    case Nonlinearity::gelu_tanh:
      return action(GeluTanh{});
    case Nonlinearity::relu:
      return action(Relu{});
  }
}

}  // namespace

template <class Real>
void forward(const Activation& op, OpContext<Real>& context) {
  with_function(op.function, [&](auto f) { apply<decltype(f)>(op, context); });
}

template <class Real>
void backward(const Activation& op, OpContext<Real>& context) {
  with_function(op.function, [&](auto f) { differentiate<decltype(f)>(op, context); });
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(Activation, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
