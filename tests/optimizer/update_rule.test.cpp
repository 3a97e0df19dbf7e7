// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/optimizer/update_rule.hpp"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wsc/base/random.hpp"

namespace wsc::optimizer {
namespace {

using testing::Each;
using testing::ElementsAre;

OptimizerSettings settings(const std::string& type) {
  OptimizerSettings s{};
  s.optimizer_type = type;
  s.beta1 = 0.9;
  s.beta2 = 0.95;
  s.eps = 1e-8;
  s.correct_bias = true;
  s.eps_mode = "pytorch";
  return s;
}

/// The arrays of one parameter.
struct Arrays {
  std::vector<float> weight, gradient;
  std::vector<std::vector<float>> states;

  Arrays(const UpdateRule& rule, std::vector<float> start)
      : weight(std::move(start)), gradient(weight.size()), states(state_names(rule).size(), std::vector<float>(weight.size())) {}

  void apply_range(const Exec& exec, const UpdateRule& rule, const UpdateParams& params, std::int64_t begin, std::int64_t end) {
    std::vector<float*> at;
    for (auto& s : states) at.push_back(s.data() + begin);
    optimizer::apply(exec, rule, params, end - begin, weight.data() + begin, gradient.data() + begin, at);
  }
  void apply_all(const UpdateRule& rule, const UpdateParams& params) {
    apply_range(Exec(), rule, params, 0, static_cast<std::int64_t>(weight.size()));
  }
};

std::vector<float> random_numbers(std::size_t n, const std::string& name, std::uint64_t step, double scale = 1) {
  const RandomKey key(7, "test", name, step);
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(scale * key.normal(0, i));
  return x;
}

/// The published formulas in double, one element, one line per line of the papers (see update_rule.hpp).
struct Reference {
  const OptimizerSettings& s;
  double m = 0, v = 0, buffer = 0;

  double update(double p, double gradient, const UpdateParams& u) {
    double g = u.gradient_factor * gradient;
    if (u.clip_value > 0) g = std::min(std::max(g, -u.clip_value), u.clip_value);
    const double wd = u.decays ? s.weight_decay_rate : 0;
    if (s.optimizer_type == "SGD") {
      g += wd * p;
      buffer = u.step == 1 ? g : s.momentum * buffer + g;
      return p - u.learning_rate * buffer;
    }
    if (s.optimizer_type == "Adam") g += wd * p;
    m = s.beta1 * m + (1 - s.beta1) * g;
    v = s.beta2 * v + (1 - s.beta2) * g * g;
    const double bias1 = s.correct_bias ? 1 - std::pow(s.beta1, u.step) : 1, bias2 = s.correct_bias ? 1 - std::pow(s.beta2, u.step) : 1;
    const double decay = s.optimizer_type == "AdamW" ? wd * p : 0;
    if (s.eps_mode == "cerebras") return p - u.learning_rate * (std::sqrt(bias2) / bias1 * m / (std::sqrt(v) + s.eps) + decay);
    return p - u.learning_rate * decay - u.learning_rate / bias1 * m / (std::sqrt(v) / std::sqrt(bias2) + s.eps);
  }
};

void expect_follows_reference(const OptimizerSettings& s, bool decays, double clip_value) {
  SCOPED_TRACE(s.optimizer_type + " " + s.eps_mode + (decays ? " decays" : "") + " clip " + std::to_string(clip_value));
  constexpr std::size_t n = 501;
  const UpdateRule rule = update_rule(s);
  Arrays arrays(rule, random_numbers(n, "weight", 0, 0.02));
  std::vector<Reference> reference(n, Reference{s});
  std::vector<double> expected(arrays.weight.begin(), arrays.weight.end());
  for (int step = 1; step <= 6; ++step) {
    const UpdateParams u{0.01 / step, 0.5 + 0.1 * step, clip_value, step, decays};
    arrays.gradient = random_numbers(n, "gradient", step, 1e-3);
    for (std::size_t i = 0; i < n; ++i) expected[i] = reference[i].update(expected[i], arrays.gradient[i], u);
    arrays.apply_all(rule, u);
    ASSERT_THAT(arrays.gradient, Each(0.0f));
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(arrays.weight[i], expected[i], 2e-7 * step) << "element " << i << ", step " << step;
  }
}

TEST(UpdateRule, FollowsFormulasInDouble) {
  for (const std::string type : {"AdamW", "Adam", "SGD"})
    for (const std::string mode : {"pytorch", "cerebras"})
      for (const bool decays : {false, true})
        for (const bool correct : {false, true})
          for (const double clip : {0.0, 4e-4}) {
            OptimizerSettings s = settings(type);
            s.eps = 1e-4;  // of the size of the gradients: the modes differ by much
            s.eps_mode = mode;
            s.correct_bias = correct;
            s.momentum = correct ? 0.9 : 0;
            s.weight_decay_rate = 0.3;
            if (type == "SGD" && s.momentum == 0) {  // no memory: the reference's buffer is the gradient
              EXPECT_TRUE(state_names(update_rule(s)).empty());
            }
            expect_follows_reference(s, decays, clip);
          }
}

TEST(UpdateRule, AdamWByHand) {
  // First step: m̂ = g, v̂ = g², so the change is lr · sign(g) (ε aside) after the weight shrank by lr · decay.
  OptimizerSettings s = settings("AdamW");
  s.weight_decay_rate = 0.5;
  const UpdateRule rule = update_rule(s);
  Arrays arrays(rule, {1.0f, -2.0f, 4.0f});
  arrays.gradient = {0.25f, 8.0f, 0.0f};
  arrays.apply_all(rule, {.learning_rate = 0.1, .step = 1, .decays = true});
  EXPECT_NEAR(arrays.weight[0], 1 * 0.95 - 0.1, 1e-6);
  EXPECT_NEAR(arrays.weight[1], -2 * 0.95 - 0.1, 1e-6);
  EXPECT_NEAR(arrays.weight[2], 4 * 0.95, 1e-6);
  EXPECT_NEAR(arrays.states[0][0], 0.025, 1e-8);  // (1 − 0.9) · 0.25
  EXPECT_NEAR(arrays.states[1][1], 3.2, 1e-6);    // (1 − 0.95) · 64
  // Second step with g = −0.5 on element 0: m = 0.0225 − 0.05, v = 0.95 · 0.003125 + 0.05 · 0.25, corrected by 0.19 and 0.0975.
  arrays.gradient = {-0.5f, 0.0f, 0.0f};
  const double before = arrays.weight[0];
  arrays.apply_all(rule, {.learning_rate = 0.1, .step = 2, .decays = false});
  EXPECT_NEAR(arrays.weight[0], before + 0.1 * (0.0275 / 0.19) / std::sqrt(0.01546875 / 0.0975), 1e-6);
}

TEST(UpdateRule, EpsilonModesByHand) {
  // g = ε = 1, first step. pytorch: 1 / (1 + 1). cerebras: √0.05 / 0.1 · 0.1 / (√0.05 + 1).
  OptimizerSettings s = settings("AdamW");
  s.eps = 1;
  for (const bool cerebras : {false, true}) {
    s.eps_mode = cerebras ? "cerebras" : "pytorch";
    const UpdateRule rule = update_rule(s);
    Arrays arrays(rule, {0.0f});
    arrays.gradient = {1.0f};
    arrays.apply_all(rule, {.learning_rate = 1, .step = 1});
    EXPECT_NEAR(arrays.weight[0], cerebras ? -std::sqrt(0.05) / (std::sqrt(0.05) + 1) : -0.5, 1e-6);
  }
}

TEST(UpdateRule, MomentumByHand) {
  OptimizerSettings s = settings("SGD");
  s.momentum = 0.5;
  const UpdateRule rule = update_rule(s);
  EXPECT_THAT(state_names(rule), ElementsAre("momentum_buffer"));
  Arrays arrays(rule, {1.0f});
  for (int step = 1; step <= 3; ++step) {
    arrays.gradient = {1.0f};
    arrays.apply_all(rule, {.learning_rate = 0.125, .step = step});
  }
  EXPECT_EQ(arrays.weight[0], 1 - 0.125f * (1 + 1.5f + 1.75f));  // exact in binary
  EXPECT_EQ(arrays.states[0][0], 1.75f);
}

TEST(UpdateRule, FactorThenClipThenDecay) {
  OptimizerSettings s = settings("SGD");
  s.weight_decay_rate = 0.5;
  const UpdateRule rule = update_rule(s);
  Arrays arrays(rule, {2.0f, 2.0f, 2.0f});
  arrays.gradient = {1.0f, -1.0f, 0.125f};
  arrays.apply_all(rule, {.learning_rate = 1, .gradient_factor = 2, .clip_value = 0.5, .step = 1, .decays = true});
  EXPECT_THAT(arrays.weight, ElementsAre(2 - 0.5f - 1, 2 + 0.5f - 1, 2 - 0.25f - 1));
}

TEST(UpdateRule, DecayOnlyWhereAsked) {
  OptimizerSettings s = settings("AdamW");
  s.weight_decay_rate = 0.5;
  for (const std::string type : {"AdamW", "Adam", "SGD"}) {
    s.optimizer_type = type;
    const UpdateRule rule = update_rule(s);
    Arrays kept(rule, {3.0f}), shrunk(rule, {3.0f}), still(rule, {3.0f});
    for (int step = 1; step <= 10; ++step) {
      kept.apply_all(rule, {.learning_rate = 0.1, .step = step, .decays = false});
      shrunk.apply_all(rule, {.learning_rate = 0.1, .step = step, .decays = true});
      still.apply_all(rule, {.learning_rate = 0, .step = step, .decays = true});
    }
    EXPECT_EQ(kept.weight[0], 3.0f) << type;
    EXPECT_LT(shrunk.weight[0], 3.0f) << type;
    EXPECT_EQ(still.weight[0], 3.0f) << type;
  }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(UpdateRule, BitsDependNeitherOnCutsNorOnThreads) {
  constexpr std::size_t n = 20011;
  for (const std::string type : {"AdamW", "Adam", "SGD"})
    for (const double momentum : {0.0, 0.9}) {
      OptimizerSettings s = settings(type);
      s.momentum = momentum;
      s.weight_decay_rate = 0.1;
      const UpdateRule rule = update_rule(s);
      Arrays whole(rule, random_numbers(n, "weight", 0, 0.02)), cut = whole, lone = whole;
      const auto instances = Kokkos::Experimental::partition_space(Exec(), 1, 1);  // half of the threads each
      for (int step = 1; step <= 3; ++step) {
        const UpdateParams u{1e-3, 0.7, 2.0, step, true};
        whole.gradient = cut.gradient = lone.gradient = random_numbers(n, "gradient", step);
        whole.apply_all(rule, u);
        lone.apply_range(instances[0], rule, u, 0, n);
        // Pieces of 1, 2, 3, … elements: every length of a vector loop's remainder occurs.
        for (std::size_t begin = 0, length = 1; begin < n; begin += length++)
          cut.apply_range(Exec(), rule, u, begin, std::min(begin + length, n));
        EXPECT_TRUE(same_bits(whole.weight, cut.weight) && same_bits(whole.weight, lone.weight)) << type << " step " << step;
        for (std::size_t k = 0; k < whole.states.size(); ++k)
          EXPECT_TRUE(same_bits(whole.states[k], cut.states[k]) && same_bits(whole.states[k], lone.states[k])) << type << " step " << step;
      }
    }
}

TEST(UpdateRule, NamesOfStates) {
  EXPECT_THAT(state_names(update_rule(settings("AdamW"))), ElementsAre("exp_avg", "exp_avg_sq"));
  EXPECT_THAT(state_names(update_rule(settings("Adam"))), ElementsAre("exp_avg", "exp_avg_sq"));
  EXPECT_TRUE(state_names(update_rule(settings("SGD"))).empty());
}

}  // namespace
}  // namespace wsc::optimizer
