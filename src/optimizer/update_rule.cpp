// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/optimizer/update_rule.hpp"

#include <cmath>
#include <limits>

#include "wsc/base/error.hpp"
#include "wsc/kernels/loops.hpp"

// This file is compiled with -ffp-contract=off: a compiler that fuses a multiplication and an addition in the vector loop but not in
// its scalar remainder would make results depend on where a range is cut. Fused operations are written out instead.
namespace wsc::optimizer {
namespace {

/// a·b + c, rounded once where the processor can; everywhere in this file or nowhere.
KOKKOS_FORCEINLINE_FUNCTION float multiply_add(float a, float b, float c) {
#if defined(__FP_FAST_FMAF) || defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// What every rule does to a gradient first: factor · g, cut to ± limit, plus decay · p.
struct GradientScale {
  float factor, limit, decay;

  GradientScale(const UpdateParams& u, double added_decay)
      : factor(static_cast<float>(u.gradient_factor)),
        limit(u.clip_value > 0 ? static_cast<float>(u.clip_value) : std::numeric_limits<float>::infinity()),
        decay(u.decays ? static_cast<float>(added_decay) : 0.0f) {}

  KOKKOS_FORCEINLINE_FUNCTION float operator()(float gradient, float p) const {
    float g = factor * gradient;
    g = g < -limit ? -limit : g;
    g = g > limit ? limit : g;
    return multiply_add(decay, p, g);
  }
};

/// Both modes of ε, with and without decoupled decay, are one formula in p, m, v and g:
/// m ← β₁ m + (1 − β₁) g;  v ← β₂ v + (1 − β₂) g²;  p ← p − shrink · p − rate · m / (root · √v + ε).
void apply_adam(const Exec& exec, const Adam& rule, const UpdateParams& u, std::int64_t n, float* weight, float* gradient, float* exp_avg,
                float* exp_avg_sq) {
  const double steps = static_cast<double>(u.step);
  const double correction1 = rule.correct_bias ? 1 - std::pow(rule.beta1, steps) : 1;
  const double correction2 = rule.correct_bias ? std::sqrt(1 - std::pow(rule.beta2, steps)) : 1;
  const bool pytorch = rule.epsilon_mode == EpsilonMode::pytorch;
  const float rate = static_cast<float>(u.learning_rate / correction1 * (pytorch ? 1 : correction2));
  const float root = static_cast<float>(pytorch ? 1 / correction2 : 1);
  const float epsilon = static_cast<float>(rule.epsilon);
  const float beta1 = static_cast<float>(rule.beta1), rest1 = static_cast<float>(1 - rule.beta1);
  const float beta2 = static_cast<float>(rule.beta2), rest2 = static_cast<float>(1 - rule.beta2);
  const float shrink = rule.decoupled_decay && u.decays ? static_cast<float>(u.learning_rate * rule.weight_decay) : 0.0f;
  const GradientScale scaled(u, rule.decoupled_decay ? 0 : rule.weight_decay);

  kernels::for_chunks(
      "wsc::optimizer::adam", exec, n, KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) {
          const float p = weight[i], g = scaled(gradient[i], p);
          const float m = multiply_add(beta1, exp_avg[i], rest1 * g);
          const float v = multiply_add(beta2, exp_avg_sq[i], rest2 * g * g);
          const float change = m / multiply_add(root, std::sqrt(v), epsilon);
          exp_avg[i] = m;
          exp_avg_sq[i] = v;
          weight[i] = multiply_add(-rate, change, multiply_add(-shrink, p, p));
          gradient[i] = 0;
        }
      });
}

void apply_sgd(const Exec& exec, const Sgd& rule, const UpdateParams& u, std::int64_t n, float* weight, float* gradient) {
  const float rate = static_cast<float>(u.learning_rate);
  const GradientScale scaled(u, rule.weight_decay);
  kernels::for_chunks(
      "wsc::optimizer::sgd", exec, n, KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) {
          weight[i] = multiply_add(-rate, scaled(gradient[i], weight[i]), weight[i]);
          gradient[i] = 0;
        }
      });
}

void apply_momentum(const Exec& exec, const Sgd& rule, const UpdateParams& u, std::int64_t n, float* weight, float* gradient,
                    float* momentum_buffer) {
  const float rate = static_cast<float>(u.learning_rate), momentum = static_cast<float>(rule.momentum);
  const GradientScale scaled(u, rule.weight_decay);
  kernels::for_chunks(
      "wsc::optimizer::sgd_momentum", exec, n, KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) {
          const float b = multiply_add(momentum, momentum_buffer[i], scaled(gradient[i], weight[i]));
          momentum_buffer[i] = b;
          weight[i] = multiply_add(-rate, b, weight[i]);
          gradient[i] = 0;
        }
      });
}

}  // namespace

UpdateRule update_rule(const OptimizerSettings& s) {
  if (s.optimizer_type == "SGD") return Sgd{s.momentum, s.weight_decay_rate};
  WSC_EXPECT(s.optimizer_type == "AdamW" || s.optimizer_type == "Adam");
  WSC_EXPECT(s.eps_mode == "pytorch" || s.eps_mode == "cerebras");
  return Adam{s.beta1,
              s.beta2,
              s.eps,
              s.weight_decay_rate,
              s.optimizer_type == "AdamW",
              s.correct_bias,
              s.eps_mode == "pytorch" ? EpsilonMode::pytorch : EpsilonMode::cerebras};
}

std::vector<std::string> state_names(const UpdateRule& rule) {
  if (std::holds_alternative<Adam>(rule)) return {"exp_avg", "exp_avg_sq"};
  if (std::get<Sgd>(rule).momentum > 0) return {"momentum_buffer"};
  return {};
}

void apply(const Exec& exec, const UpdateRule& rule, const UpdateParams& params, std::int64_t n, float* weight, float* gradient,
           std::span<float* const> states) {
  WSC_EXPECT(params.step >= 1);
  WSC_EXPECT(states.size() == state_names(rule).size());
  if (n == 0) return;
  if (const Adam* adam = std::get_if<Adam>(&rule))
    apply_adam(exec, *adam, params, n, weight, gradient, states[0], states[1]);
  else if (const Sgd& sgd = std::get<Sgd>(rule); sgd.momentum > 0)
    apply_momentum(exec, sgd, params, n, weight, gradient, states[0]);
  else
    apply_sgd(exec, sgd, params, n, weight, gradient);
}

}  // namespace wsc::optimizer
