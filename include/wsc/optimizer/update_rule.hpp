// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "wsc/base/view.hpp"
#include "wsc/config/settings.hpp"

/// How a weight changes: element by element, so that any part of a shard can be updated on its own and the result depends neither on
/// how a range is cut nor on threads.
namespace wsc::optimizer {

/// What an update depends on besides the arrays: the same for all parameters of a step but for `decays`.
struct UpdateParams {
  double learning_rate = 0;
  double gradient_factor = 1;  ///< multiplies the gradient first; the caller sees to it that the products are finite
  double clip_value = 0;       ///< then every element is cut to ± this; 0 = off
  std::int64_t step = 1;       ///< updates so far, this one included: exponent of the bias corrections
  bool decays = false;         ///< weight decay applies to this parameter
};

/// Where ε enters Adam's denominator.
enum class EpsilonMode {
  pytorch,   ///< √v / √(1 − β₂ᵗ) + ε
  cerebras,  ///< √v + ε, the whole then corrected: ε weighs more in the first steps (cerebras.md 3.5)
};

/// Adam (Kingma and Ba 2015, algorithm 1) and AdamW (Loshchilov and Hutter 2019, algorithm 2, with the decay scaled by the learning
/// rate as in PyTorch). States: exp_avg m, exp_avg_sq v, zero at the start.
struct Adam {
  double beta1, beta2, epsilon, weight_decay;
  bool decoupled_decay;  ///< AdamW: p shrinks by learning rate × decay. Otherwise (Adam): decay × p is added to the gradient
  bool correct_bias;
  EpsilonMode epsilon_mode;
};

/// p −= learning rate × b with b = momentum × b + g (b = g where there is no momentum), as in PyTorch; decay × p is added to g.
/// State: momentum_buffer b, zero at the start; none without momentum.
struct Sgd {
  double momentum, weight_decay;
};

/// The closed set of rules.
using UpdateRule = std::variant<Adam, Sgd>;

/// The rule that [optimizer] asks for.
UpdateRule update_rule(const OptimizerSettings& settings);

/// Names of the arrays that the rule keeps per parameter, each of the parameter's size: exp_avg, exp_avg_sq | momentum_buffer | none.
std::vector<std::string> state_names(const UpdateRule& rule);

/// Updates weight[0, n) and the states (in the order of state_names), and zeroes gradient[0, n), in one pass over memory.
void apply(const Exec& exec, const UpdateRule& rule, const UpdateParams& params, std::int64_t n, float* weight, float* gradient,
           std::span<float* const> states);

}  // namespace wsc::optimizer
