// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/cost.hpp"

#include <gtest/gtest.h>

#include "wsc/config/deck.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/plan/summary.hpp"

namespace wsc::plan {
namespace {

class PredictedCost : public testing::Test {
 protected:
  static Settings settings() {
    return parse_settings(
        "[model]\nhidden_size=64\nnum_hidden_layers=3\nnum_heads=4\nvocab_size=101\nmax_position_embeddings=32\n"
        "[train_input]\nbatch_size=8\n[runconfig]\nmodel_dir=unused\nmax_steps=1\n",
        "test");
  }
  Plan plan(bool streamed, const Rates& rates = {1, 1, 1}, std::int64_t waves = 1, int csx = 2) const {
    Request r;
    r.rates = rates;
    r.batch = 8;
    r.tokens = 32;
    r.layout = {1, streamed ? csx : 1};
    r.streamed = streamed;
    r.waves = waves;
    return make_plan(graph_, r);
  }
  static constexpr double never = 1e30;
  const Graph graph_ = models::build(settings().model);
};

TEST_F(PredictedCost, ComputeIsTheExecutedFlopsAtTheRate) {
  const Plan p = plan(false, {.flops = 1e9, .memory_bytes = never, .link_bytes = never});
  const double flops = flops_per_token(graph_, p).executed * 8 * 32;
  const Prediction cost = predict(graph_, p);
  EXPECT_NEAR(cost.compute, flops / 1e9, 1e-9 * cost.compute);
  EXPECT_NEAR(cost.step, cost.compute, 1e-9 * cost.compute);
  EXPECT_EQ(cost.exposed_wait, 0);
}

// AdamW: weight, gradient and two moments are read and written, the gradient once more for the norm.
TEST_F(PredictedCost, TheOptimizerIsItsTrafficWithMemory) {
  double elements = 0;
  for (const Block& b : graph_.blocks) elements += static_cast<double>(b.elements);
  const Prediction cost = predict(graph_, plan(false, {.flops = never, .memory_bytes = 1e9, .link_bytes = never}));
  EXPECT_NEAR(cost.optimizer, elements * 4 * (4 + 4 + 1) / 1e9, 1e-9 * cost.optimizer);
  EXPECT_NEAR(cost.step, cost.compute + cost.optimizer, 1e-9 * cost.step);
}

TEST_F(PredictedCost, AFastStreamIsHiddenAndTwoCsxHalveTheCompute) {
  const Rates rates{.flops = 1e9, .memory_bytes = never, .link_bytes = 1e18};
  const Prediction cost = predict(graph_, plan(true, rates));
  EXPECT_NEAR(cost.step, cost.compute, 1e-6 * cost.compute);
  EXPECT_NEAR(2 * cost.compute, predict(graph_, plan(false, rates)).compute, 1e-9);
}

// Nothing to hide behind: all weights arrive one after the other, gradients leave beside them, those of the last visit after all weights.
TEST_F(PredictedCost, WithoutComputeTheStepIsTheStream) {
  for (const std::int64_t waves : {1, 2}) {
    const Plan p = plan(true, {.flops = never, .memory_bytes = never, .link_bytes = 1e6}, waves);
    const Prediction cost = predict(graph_, p);
    const WireBytes wire = wire_bytes(p);
    EXPECT_NEAR(cost.weights, static_cast<double>(wire.to_each_window) / 1e6, 1e-9 * cost.weights);
    EXPECT_NEAR(cost.gradients, static_cast<double>(wire.from_each_csx) / 1e6, 1e-9 * cost.gradients);
    EXPECT_NEAR(cost.exposed_wait, cost.step, 1e-6 * cost.step);
    EXPECT_GE(cost.step, std::max(cost.weights, cost.gradients) * (1 - 1e-9));
    EXPECT_LE(cost.step, cost.weights + cost.gradients);
    EXPECT_LE(cost.overlap, 0.01);
  }
}

TEST_F(PredictedCost, AStepIsComputeAndExposedWaitAndAFasterStreamWaitsLess) {
  double before = never;
  for (const double link : {1e5, 1e6, 1e7, 1e8, 1e9}) {
    const Prediction cost = predict(graph_, plan(true, {.flops = 1e10, .memory_bytes = 1e10, .link_bytes = link}, 2));
    EXPECT_NEAR(cost.step, cost.compute + cost.exposed_wait, 1e-9 * cost.step);
    EXPECT_LE(cost.exposed_wait, before);
    EXPECT_GE(cost.overlap, 0);
    EXPECT_LE(cost.overlap, 1);
    before = cost.exposed_wait;
  }
}

}  // namespace
}  // namespace wsc::plan
