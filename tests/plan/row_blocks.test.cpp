// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/row_blocks.hpp"

#include <gtest/gtest.h>

#include "wsc/config/deck.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/plan/plan.hpp"
#include "wsc/plan/summary.hpp"

namespace wsc::plan {
namespace {

constexpr std::int64_t V = 20'000, C = 64, B = 8, T = 32;

Graph model(bool tied = true) {
  return models::build(
      parse_settings("[model]\nhidden_size=64\nnum_hidden_layers=2\nnum_heads=4\nvocab_size=20000\nmax_position_embeddings=32\n"
                     "share_embedding_weights=" +
                         std::string(tied ? "true" : "false") +
                         "\n[train_input]\nbatch_size=8\n[runconfig]\nmodel_dir=unused\nmax_steps=1\n",
                     "test")
          .model);
}

Plan plan_of(const Graph& graph, bool streamed = true, std::int64_t batch = B) {
  Request r;
  r.batch = batch;
  r.tokens = T;
  r.layout = {2, 2};
  r.streamed = streamed;
  return make_plan(graph, r);
}

TEST(RowBlocks, OnlyWhereTheyAreWorthIt) {
  const Graph graph = model();
  ASSERT_EQ(row_blocks(graph, B * T).size(), 1u);
  EXPECT_EQ(row_blocks(graph, B * T).front().rows, V);
  EXPECT_TRUE(row_blocks(graph, V / 2).empty()) << "more than half of the rows may be used";
  EXPECT_EQ(row_blocks(graph, V / 2 - 1).size(), 1u);
  EXPECT_TRUE(plan_of(graph, false).row_blocks.empty()) << "nothing travels in one process";
  EXPECT_TRUE(plan_of(graph, true, V).row_blocks.empty());
}

// The tied head still gets the table whole, and its gradient leaves whole.
TEST(RowBlocks, TheEmbeddingMovesRowsAndTheHeadAll) {
  const Graph graph = model();
  const Plan plan = plan_of(graph);
  const BlockId table = graph[plan.row_blocks.front().table].block, rows = plan.row_blocks.front().id;
  const auto has = [](const std::vector<BlockId>& blocks, BlockId b) { return std::count(blocks.begin(), blocks.end(), b); };
  int turns = 0;
  for (const PlannedVisit& v : plan.visits) {
    const bool embedding = v.stage == StageId(0), turn = v.direction == Direction::turn;
    turns += turn;
    EXPECT_EQ(has(v.stream.receives, rows), embedding && v.direction == Direction::forward);
    EXPECT_EQ(has(v.stream.receives, table), turn);
    EXPECT_EQ(has(v.stream.gradients, rows), embedding && v.direction == Direction::backward);
    EXPECT_EQ(has(v.stream.gradients, table), turn);
    for (const bool last : v.stream.gradient_is_last) EXPECT_TRUE(last) << "the rows are a block of their own";
  }
  EXPECT_EQ(turns, 1);
}

TEST(RowBlocks, TheWindowNeedsNoRoomForATableThatNobodyReadsWhole) {
  const Graph untied = model(false);
  Request r;
  r.batch = B;
  r.tokens = T;
  r.purpose = Purpose::train;
  r.prefetch = 0;
  const Plan rows = make_plan(untied, r);
  r.batch = V / T;  // too many for rows
  const Plan whole = make_plan(untied, r);
  EXPECT_LT(wire_bytes(rows).to_each_window + 4 * (V - B * T) * C, wire_bytes(whole).to_each_window + 1);
  EXPECT_LE(rows.window_elements, whole.window_elements);
}

TEST(RowBlocks, TheirPartsOnTheShards) {
  const Graph graph = model();
  const Plan plan = plan_of(graph);
  const std::int64_t cut = plan.blocks[graph[plan.row_blocks.front().table].block.index].bounds[1] / C;
  const std::vector<std::int64_t> used{3, cut - 1, cut, cut + 5, V - 1};
  const fabric::StreamSchedule s = with_rows(plan.schedule(), graph, plan.row_blocks, used);
  const fabric::BlockSplit& split = s.blocks[plan.row_blocks.front().id.index];
  EXPECT_EQ(split.elements, 5 * C);
  EXPECT_EQ(split.bounds, (std::vector<std::int64_t>{0, 2 * C, 5 * C}));
  EXPECT_EQ(fabric::flaw(s, 2), "");
  EXPECT_EQ(fabric::flaw(with_rows(plan.schedule(), graph, plan.row_blocks, {}), 2), "");
}

}  // namespace
}  // namespace wsc::plan
