// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/optimizer/loss_scale.hpp"

#include <gtest/gtest.h>

namespace wsc::optimizer {
namespace {

PrecisionSettings dynamic(double initial = 1024, std::int64_t steps_per_increase = 3, double tolerance = 0) {
  PrecisionSettings s;
  s.loss_scaling_factor = dynamic_loss_scaling;
  s.initial_loss_scale = initial;
  s.steps_per_increase = steps_per_increase;
  s.overflow_tolerance = tolerance;
  s.min_loss_scale = 0.25;
  s.max_loss_scale = 4096;
  return s;
}

/// The factor after each step of a script: '.' a finite gradient, '!' an overflow.
std::vector<double> play(LossScale& scale, const std::string& script) {
  std::vector<double> factors;
  for (const char c : script) {
    scale.advance(c == '.');
    factors.push_back(scale.factor());
  }
  return factors;
}

TEST(LossScale, RisesOnceMoreThanTheGivenStepsHavePassed) {
  LossScale scale(dynamic(), {});
  EXPECT_EQ(play(scale, "........"), (std::vector<double>{1024, 1024, 1024, 2048, 2048, 2048, 2048, 4096}));
  EXPECT_EQ(play(scale, "....."), (std::vector<double>{4096, 4096, 4096, 4096, 4096})) << "clamped";
}

TEST(LossScale, FallsAtOnceOnAnOverflowAndBeginsToCountAnew) {
  LossScale scale(dynamic(), {});
  EXPECT_EQ(play(scale, "...!...."), (std::vector<double>{1024, 1024, 1024, 512, 512, 512, 512, 1024}));
  EXPECT_EQ(play(scale, "!!.!"), (std::vector<double>{512, 256, 256, 128}));
}

TEST(LossScale, StopsFallingAtTheMinimum) {
  LossScale scale(dynamic(1), {});
  EXPECT_TRUE(scale.can_fall());
  EXPECT_EQ(play(scale, "!!"), (std::vector<double>{0.5, 0.25}));
  EXPECT_FALSE(scale.can_fall());
  EXPECT_EQ(play(scale, "!"), (std::vector<double>{0.25}));
}

TEST(LossScale, ToleratesTheGivenShareOfOverflows) {
  LossScale scale(dynamic(1024, 100, 0.25), {});
  EXPECT_EQ(play(scale, "...!"), (std::vector<double>{1024, 1024, 1024, 1024})) << "1 of 4";
  EXPECT_EQ(scale.state(), (LossScaleState{1024, 4, 1}));
  EXPECT_EQ(play(scale, "!"), (std::vector<double>{512})) << "2 of 5";
  EXPECT_EQ(scale.state(), (LossScaleState{512, 0, 0}));
}

TEST(LossScale, GoesOnFromItsState) {
  for (std::size_t cut = 0; cut < 12; ++cut) {
    const std::string script = "..!.....!!....";
    LossScale whole(dynamic(), {}), first(dynamic(), {});
    play(whole, script);
    play(first, script.substr(0, cut));
    LossScale second(dynamic(), first.state());
    play(second, script.substr(cut));
    EXPECT_EQ(second.state(), whole.state()) << cut;
  }
}

TEST(LossScale, AFixedOneIgnoresOverflows) {
  PrecisionSettings s = dynamic();
  s.loss_scaling_factor = 8;
  LossScale scale(s, {});
  EXPECT_EQ(play(scale, "!.!......"), std::vector<double>(9, 8));
  EXPECT_FALSE(scale.can_fall());
  EXPECT_EQ(scale.state(), LossScaleState{});
}

}  // namespace
}  // namespace wsc::optimizer
