// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/optimizer/schedule.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "wsc/config/deck.hpp"

/// Against values computed by hand and against the recursive forms that PyTorch documents for the same schedules.
namespace wsc::optimizer {
namespace {

using Rates = std::vector<double>;

// The pieces as a deck would give them, each as lines of key = value.
OptimizerSettings schedule(const std::vector<std::string>& pieces) {
  std::string deck;
  for (std::size_t i = 0; i < pieces.size(); ++i) deck += "[optimizer.schedule." + std::to_string(i + 1) + "]\n" + pieces[i] + "\n";
  return parse_settings(deck, "test").optimizer;
}

void expect_rates(const OptimizerSettings& settings, const Rates& expected, std::int64_t first = 0) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto t = first + static_cast<std::int64_t>(i);
    EXPECT_NEAR(learning_rate(settings, t), expected[i], 1e-14 + 1e-12 * std::abs(expected[i])) << "t = " << t;
  }
}

TEST(Schedule, without_pieces_the_rate_is_constant) {
  const OptimizerSettings settings = parse_settings("", "test", {"--optimizer.learning_rate=3e-4"}).optimizer;
  EXPECT_EQ(learning_rate(settings, 0), 3e-4);
  EXPECT_EQ(learning_rate(settings, 1'000'000'000), 3e-4);
}

TEST(Schedule, constant) { expect_rates(schedule({"scheduler=Constant\nlearning_rate=0.5"}), {0.5, 0.5, 0.5}); }

TEST(Schedule, linear_rises_and_stays) {
  expect_rates(schedule({"scheduler=Linear\ninitial_learning_rate=0\nend_learning_rate=1\ntotal_iters=4"}), {0, 0.25, 0.5, 0.75, 1, 1, 1});
}

TEST(Schedule, linear_cycle_stretches) {
  // T becomes 4 at t = 3 and 4, then 6 at 5 and 6: 1 − t/T.
  expect_rates(schedule({"scheduler=Linear\ninitial_learning_rate=1\ntotal_iters=2\ncycle=true"}), {1, 0.5, 0, 0.25, 0, 1.0 / 6, 0});
}

TEST(Schedule, polynomial) {
  expect_rates(schedule({"scheduler=Polynomial\ninitial_learning_rate=1.1\nend_learning_rate=0.1\npower=2\ntotal_iters=4"}),
               {1.1, 0.1 + 0.5625, 0.1 + 0.25, 0.1 + 0.0625, 0.1, 0.1});
}

TEST(Schedule, exponential_goes_on_after_its_time_constant) {
  const std::string piece = "scheduler=Exponential\ninitial_learning_rate=8\ndecay_rate=0.25\ntotal_iters=2\n";
  expect_rates(schedule({piece}), {8, 4, 2, 1, 0.5});
  expect_rates(schedule({piece + "staircase=true"}), {8, 8, 2, 2, 0.5});
}

TEST(Schedule, inverse_exponential_time_decay) {
  expect_rates(schedule({"scheduler=InverseExponentialTimeDecay\ninitial_learning_rate=6\ndecay_rate=2\nstep_exponent=2\ntotal_iters=4"}),
               {6, 4, 2, 6 / 5.5, 6 / 9.0});
}

TEST(Schedule, inverse_square_root_decay) {
  expect_rates(schedule({"scheduler=InverseSquareRootDecay\ninitial_learning_rate=3\nscale=2\nwarmup=4"}),
               {3, 3, 3, 3, 3, 6 / std::sqrt(5.0), 6 / std::sqrt(6.0)});
}

TEST(Schedule, cosine_decay) {
  const double root = std::sqrt(0.5);
  expect_rates(schedule({"scheduler=CosineDecayLR\ninitial_learning_rate=1.2\nend_learning_rate=0.2\ntotal_iters=4"}),
               {1.2, 0.2 + (1 + root) / 2, 0.7, 0.2 + (1 - root) / 2, 0.2, 0.2});
}

TEST(Schedule, piecewise_constant) {
  expect_rates(schedule({"scheduler=PiecewiseConstant\nlearning_rates=3, 2, 1\nmilestones=2, 3"}), {3, 3, 2, 1, 1});
}

TEST(Schedule, multi_step_and_step) {
  expect_rates(schedule({"scheduler=MultiStep\ninitial_learning_rate=8\ngamma=0.5\nmilestones=1, 4"}), {8, 4, 4, 4, 2, 2});
  expect_rates(schedule({"scheduler=StepLR\ninitial_learning_rate=8\ngamma=0.5\nstep_size=2"}), {8, 8, 4, 4, 2, 2});
}

// PyTorch's recursive CosineAnnealingLR: lr(t+1) − e = (lr(t) − e) (1 + cos π(t+1)/T) / (1 + cos πt/T), and at t ≡ T (mod 2T)
// lr(t+1) = lr(t) + (i − e)(1 − cos(π/T))/2.
TEST(Schedule, cosine_annealing_follows_the_recursion_of_pytorch) {
  constexpr int t_max = 7;
  const double initial = 0.3, lowest = 0.05, pi = std::acos(-1.0);
  const auto settings = schedule({"scheduler=CosineAnnealing\ninitial_learning_rate=0.3\nend_learning_rate=0.05\nt_max=7"});
  double rate = initial;
  for (int t = 0; t < 40; ++t) {
    EXPECT_NEAR(learning_rate(settings, t), rate, 1e-12) << t;
    if ((t - t_max) % (2 * t_max) == 0) {
      rate += (initial - lowest) * (1 - std::cos(pi / t_max)) / 2;
    } else {
      rate = lowest + (rate - lowest) * (1 + std::cos(pi * (t + 1) / t_max)) / (1 + std::cos(pi * t / t_max));
    }
  }
}

TEST(Schedule, warm_restarts_lengthen) {
  const double root = std::sqrt(0.5);
  // Cosines of 2, 4 and 8 steps, from 1 to 0.
  expect_rates(schedule({"scheduler=CosineAnnealingWarmRestarts\ninitial_learning_rate=1\nt_0=2\nt_mult=2"}),
               {1, 0.5, 1, (1 + root) / 2, 0.5, (1 - root) / 2, 1, (1 + std::cos(std::acos(-1.0) / 8)) / 2});
  expect_rates(schedule({"scheduler=CosineAnnealingWarmRestarts\ninitial_learning_rate=1\nt_0=2"}), {1, 0.5, 1, 0.5, 1});
}

TEST(Schedule, cyclic_modes) {
  const std::string piece = "scheduler=Cyclic\ninitial_learning_rate=1\nmax_learning_rate=5\nstep_size_up=2\nstep_size_down=4\n";
  expect_rates(schedule({piece}), {1, 3, 5, 4, 3, 2, 1, 3, 5});
  expect_rates(schedule({piece + "mode=triangular2"}), {1, 3, 5, 4, 3, 2, 1, 2, 3, 2.5, 2, 1.5, 1, 1.5, 2});
  expect_rates(schedule({piece + "mode=exp_range\ngamma=0.5"}), {1, 1 + 2 * 0.5, 1 + 4 * 0.25, 1 + 3 * 0.125, 1 + 2.0 / 16});
  expect_rates(schedule({"scheduler=CyclicLR\ninitial_learning_rate=0\nmax_learning_rate=1\nstep_size_up=2"}), {0, 0.5, 1, 0.5, 0, 0.5});
}

// PyTorch's table of phases: [0, 0.3·10 − 1], (2, 9]; 0.04 → 1 → 0.04/100.
TEST(Schedule, one_cycle_in_two_phases) {
  const double pi = std::acos(-1.0), first = 1.0 / 25, last = first / 100;
  const auto settings = schedule({"scheduler=OneCycle\nmax_learning_rate=1\ntotal_iters=10\nfinal_div_factor=100"});
  Rates expected{first, (first + 1) / 2, 1};
  for (int t = 3; t <= 9; ++t) expected.push_back(last + (1 - last) * (1 + std::cos(pi * (t - 2) / 7)) / 2);
  expected.push_back(last);
  expected.push_back(last);
  expect_rates(settings, expected);
}

// Phases end at 0.25·16 − 1 = 3, 2·0.25·16 − 2 = 6 and 15.
TEST(Schedule, one_cycle_in_three_phases) {
  const double pi = std::acos(-1.0), first = 2.0 / 10, last = first / 1e4;
  const auto settings =
      schedule({"scheduler=OneCycle\nmax_learning_rate=2\ntotal_iters=16\npct_start=0.25\ndiv_factor=10\nthree_phase=true"});
  Rates expected;
  for (int t = 0; t <= 3; ++t) expected.push_back(2 + (first - 2) * (1 + std::cos(pi * t / 3)) / 2);
  for (int t = 4; t <= 6; ++t) expected.push_back(first + (2 - first) * (1 + std::cos(pi * (t - 3) / 3)) / 2);
  for (int t = 7; t <= 15; ++t) expected.push_back(last + (first - last) * (1 + std::cos(pi * (t - 6) / 9)) / 2);
  expected.push_back(last);
  expect_rates(settings, expected);
}

TEST(Schedule, pieces_count_from_their_own_start) {
  expect_rates(schedule({"scheduler=Linear\ninitial_learning_rate=0\nend_learning_rate=1\ntotal_iters=2",
                         "scheduler=Constant\nlearning_rate=7\ntotal_iters=1",
                         "scheduler=Linear\ninitial_learning_rate=1\nend_learning_rate=0.5\ntotal_iters=2"}),
               {0, 0.5, 7, 1, 0.75, 0.5, 0.5});
}

TEST(Schedule, a_last_piece_with_a_length_stays_at_its_end) {
  expect_rates(schedule({"scheduler=Cyclic\ninitial_learning_rate=0\nmax_learning_rate=1\nstep_size_up=2\ntotal_iters=3"}),
               {0, 0.5, 1, 0.5, 0.5, 0.5});
}

TEST(Schedule, cerebras_gpt_111m) {
  const OptimizerSettings o = read_settings(std::string(WSC_SOURCE_DIR) + "/inputs/cerebras-gpt-111m.cfg").optimizer;
  EXPECT_EQ(learning_rate(o, 0), 0.0);
  EXPECT_NEAR(learning_rate(o, 305), 6e-4 / 5, 1e-15);
  EXPECT_NEAR(learning_rate(o, 1525), 6e-4, 1e-15);
  EXPECT_NEAR(learning_rate(o, 1525 + 3756), 3.3e-4, 1e-15);  // half of the way down to a tenth
  EXPECT_NEAR(learning_rate(o, 9037), 6e-5, 1e-15);
  EXPECT_NEAR(learning_rate(o, 20000), 6e-5, 1e-15);
}

// The peer's recipe: (t + 1) / 100 of the peak, then a cosine to a tenth.
TEST(Schedule, tinyshakespeare) {
  const OptimizerSettings o = read_settings(std::string(WSC_SOURCE_DIR) + "/inputs/tinyshakespeare.cfg").optimizer;
  for (int t : {0, 1, 50, 99}) EXPECT_NEAR(learning_rate(o, t), 1e-3 * (t + 1) / 100, 1e-15) << t;
  for (int t : {100, 700, 1999}) {
    EXPECT_NEAR(learning_rate(o, t), 1e-4 + 0.5 * 9e-4 * (1 + std::cos(std::acos(-1.0) * (t - 100) / 1900)), 1e-15) << t;
  }
}

}  // namespace
}  // namespace wsc::optimizer
