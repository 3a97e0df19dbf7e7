// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include "wsc/config/deck.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/plan/summary.hpp"

namespace wsc::plan {
namespace {

/// Published figures: parameters, and for Cerebras-GPT training FLOPs to two digits and the number of CS-2 systems.
struct Published {
  const char* deck;
  std::int64_t parameters;
  double training_flops;
  int csx;
};

class Decks : public testing::TestWithParam<Published> {};

TEST_P(Decks, PlanReproducesThePublishedFigures) {
  const Published& p = GetParam();
  const Settings s = read_settings(std::string(WSC_SOURCE_DIR) + "/inputs/" + p.deck + ".cfg");
  const Graph graph = models::build(s.model);
  std::int64_t batch = s.train_input.batch_size;
  for (const BatchScheduleSettings& piece : s.train_input.batch_schedule) batch = std::max(batch, piece.batch_size);
  const fabric::Layout layout{1, static_cast<int>(std::max<std::int64_t>(1, s.cluster.num_csx))};
  const std::int64_t tokens = s.train_input.max_sequence_length > 0 ? s.train_input.max_sequence_length : s.model.max_position_embeddings;
  const Plan plan = make_plan(graph, request_from(s, Purpose::train, batch, tokens, layout, 2, true));
  const Summary summary = summarise(s, graph, plan, 2);
  EXPECT_EQ(summary.parameters, p.parameters);
  EXPECT_NEAR(static_cast<double>(summary.shard.total()), 16.0 * static_cast<double>(p.parameters),
              0.02 * 16 * static_cast<double>(p.parameters));
  if (p.training_flops == 0) return;
  const double unit = std::pow(10, std::floor(std::log10(p.training_flops)) - 1);  // two digits
  EXPECT_EQ(std::round(summary.training_flops / unit), std::round(p.training_flops / unit));
  EXPECT_EQ(layout.csx, p.csx);
  EXPECT_EQ(s.csx.memory, 40'000'000'000);
  EXPECT_TRUE(plan.fits);
  EXPECT_LE(plan.bytes.total(), s.csx.memory);
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, Decks,
    testing::Values(Published{"gpt2-small", 124439808, 0, 0}, Published{"cerebras-gpt-111m", 111050496, 2.6e18, 1},
                    Published{"cerebras-gpt-256m", 255977024, 1.3e19, 1}, Published{"cerebras-gpt-590m", 590310912, 6.1e19, 1},
                    Published{"cerebras-gpt-1.3b", 1315723264, 2.8e20, 4}, Published{"cerebras-gpt-2.7b", 2651553280, 1.1e21, 4},
                    Published{"cerebras-gpt-6.7b", 6658404352, 6.3e21, 16}, Published{"cerebras-gpt-13b", 12853386240, 2.3e22, 12},
                    Published{"gigagpt-70b", 64861528064, 0, 0}, Published{"gigagpt-175b", 174604259328, 0, 0}),
    [](const auto& info) {
      std::string name = info.param.deck;
      for (char& c : name)
        if (c == '-' || c == '.') c = '_';
      return name;
    });

}  // namespace
}  // namespace wsc::plan
