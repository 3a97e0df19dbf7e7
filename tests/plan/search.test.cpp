// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "wsc/config/deck.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/plan/cost.hpp"

namespace wsc::plan {
namespace {

/// GPT-2 small, 64 samples of 256 tokens.
struct PlanThatChooses : testing::Test {
  const Graph graph = models::build(parse_settings("[model]\nhidden_size=768\nnum_hidden_layers=12\nnum_heads=12\nvocab_size=50257\n"
                                                   "max_position_embeddings=256\n[train_input]\nbatch_size=64\n[runconfig]\n"
                                                   "model_dir=unused\nmax_steps=1\n",
                                                   "test")
                                        .model);
  Request request(std::int64_t memory, int csx = 2) const {
    Request r;
    r.batch = 64;
    r.tokens = 256;
    r.layout = {1, csx};
    r.memory = memory;
    return r;
  }
  double step_s(Request r) const { return predict(graph, make_plan(graph, r)).step; }
};

TEST_F(PlanThatChooses, WithoutABudgetThereIsNothingToChoose) {
  const Plan plan = make_plan(graph, request(0));
  EXPECT_EQ(plan.waves, 1);
  EXPECT_FALSE(plan.stages[1].recompute);
  EXPECT_EQ(plan.considered.size(), 1u);
}

// The waves that recompute needs at least would compute every activation twice; a few more waves keep them.
TEST_F(PlanThatChooses, MoreWavesInsteadOfRecompute) {
  const Plan plan = make_plan(graph, request(2'000'000'000));
  ASSERT_TRUE(plan.fits);
  ASSERT_GT(plan.considered.size(), 1u);
  EXPECT_TRUE(plan.considered.front().recompute) << "the fewest waves";
  EXPECT_FALSE(plan.stages[1].recompute);
  EXPECT_GT(plan.waves, plan.considered.front().waves);
  for (const Candidate& c : plan.considered) EXPECT_LE(predict(graph, plan).step, c.step_s);
}

// Each wave streams all weights: where the link is slow that costs more than computing twice.
TEST_F(PlanThatChooses, FewerWavesWhereTheLinkIsSlow) {
  Request r = request(2'000'000'000);
  r.rates.link_bytes = 2e7;
  const Plan plan = make_plan(graph, r);
  EXPECT_EQ(plan.waves, plan.considered.front().waves);
  EXPECT_TRUE(plan.stages[1].recompute);
}

TEST_F(PlanThatChooses, WhatIsSetIsNotChosen) {
  Request r = request(2'000'000'000);
  r.recompute = "on";
  EXPECT_TRUE(make_plan(graph, r).stages[1].recompute);
  r.recompute = "auto";
  r.waves = 32;
  EXPECT_EQ(make_plan(graph, r).waves, 32);
}

TEST_F(PlanThatChooses, MoreMemoryIsNeverPredictedToBeMuchSlower) {
  double before = 1e30;
  for (const std::int64_t memory : {1'200'000'000ll, 1'600'000'000ll, 2'000'000'000ll, 3'000'000'000ll, 6'000'000'000ll, 0ll}) {
    const double now = step_s(request(memory));
    EXPECT_LE(now, 1.02 * before) << memory;
    before = now;
  }
}

}  // namespace
}  // namespace wsc::plan
