// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/plan.hpp"

#include <array>
#include <map>

#include <gtest/gtest.h>

#include "wsc/base/error.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/plan/arena.hpp"
#include "wsc/plan/split.hpp"
#include "wsc/plan/summary.hpp"

namespace wsc::plan {
namespace {

Settings small(const std::string& more = {}) {
  return parse_settings(
      "[model]\nhidden_size=64\nnum_hidden_layers=3\nnum_heads=4\nvocab_size=101\nmax_position_embeddings=32\ndropout_rate=0.1\n" + more +
          "\n[train_input]\nbatch_size=8\n[runconfig]\nmodel_dir=unused\nmax_steps=1\n",
      "test");
}

Request request(int memoryx, int csx) {
  Request r;
  r.batch = 8;
  r.tokens = 32;
  r.layout = {memoryx, csx};
  return r;
}

/// Plays a wave through the arena with names instead of numbers: what an op reads must still be what was written there.
class Replay {
 public:
  Replay(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan), arena_(static_cast<std::size_t>(plan.arena_words), 0) {}

  void run() {
    for (const PlannedVisit& visit : plan_.visits) {
      const std::int64_t tile = plan_.stages[visit.stage.index].tile_rows;
      for (std::int64_t row = 0; row < plan_.wave_rows; row += tile) this->visit(visit, {row, std::min(plan_.wave_rows, row + tile)});
    }
  }

 private:
  struct Rows {
    std::int64_t first, last;
  };
  void touch(Place place, bool wave, TensorId t, Rows rows, int tag, bool write) {
    ASSERT_GE(place, 0) << graph_[t].name;
    const std::int64_t width = graph_[t].width;
    const std::int64_t begin = place + (wave ? rows.first * width : 0), end = begin + (rows.last - rows.first) * width;
    ASSERT_LE(end, plan_.workspace) << graph_[t].name;
    for (std::int64_t i = begin; i < end; ++i) {
      if (write)
        arena_[i] = tag;
      else
        ASSERT_EQ(arena_[i], tag) << graph_[t].name << " element " << i - begin;
    }
  }
  void value(TensorId t, Rows rows, bool backward, bool write) {
    const TensorPlan& p = plan_.tensors[t.index];
    touch(backward ? p.backward : p.forward, p.wave, t, rows, 1 + t.index, write);
  }
  void gradient(TensorId t, Rows rows, bool write) {
    const TensorPlan& p = plan_.tensors[t.index];
    touch(p.gradient, p.gradient_wave, t, rows, -1 - t.index, write);
  }
  void forward(const Stage& stage, Rows rows, bool backward, const std::vector<bool>* only) {
    for (std::size_t i = 0; i < stage.ops.size(); ++i) {
      if (only && !(*only)[i]) continue;
      for (const TensorId t : op_inputs(stage.ops[i])) value(t, rows, backward, false);
      for (const TensorId t : op_outputs(stage.ops[i])) value(t, rows, backward, true);
    }
  }
  void visit(const PlannedVisit& v, Rows rows) {
    const Stage& stage = graph_[v.stage];
    if (v.direction != Direction::backward) forward(stage, rows, false, nullptr);
    if (v.direction == Direction::forward) return;
    if (v.direction == Direction::backward) forward(stage, rows, true, &plan_.stages[v.stage.index].rerun);
    for (std::size_t i = stage.ops.size(); i-- > 0;) {
      const Op& op = stage.ops[i];
      for (const TensorId t : op_kept(op)) value(t, rows, true, false);
      for (const TensorId t : op_differentiated(op)) gradient(t, rows, false);
      const auto inputs = op_inputs(op);
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (!plan_.overwrites[v.stage.index][i][k]) gradient(inputs[k], rows, false);
        gradient(inputs[k], rows, true);
      }
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<int> arena_;
};

TEST(Plan, NothingIsOverwrittenBeforeItsLastUse) {
  const Graph graph = models::build(small().model);
  for (const char* recompute : {"off", "on"})
    for (const std::int64_t micro : {0, 1, 2, 3})
      for (const std::int64_t waves : {1, 2, 3}) {
        Request r = request(1, 2);
        r.recompute = recompute;
        r.micro_batch = micro;
        r.waves = waves;
        const Plan plan = make_plan(graph, r);
        Replay(graph, plan).run();
        if (testing::Test::HasFatalFailure()) FAIL() << "recompute " << recompute << " micro " << micro << " waves " << waves;
      }
}

TEST(Plan, EverySampleBelongsToExactlyOneCsxAndWave) {
  for (const std::int64_t batch : {1, 5, 8, 13})
    for (const int csx : {1, 2, 3, 5})
      for (const std::int64_t waves : {1, 2, 4})
        for (const std::int64_t leaves : {waves * csx, 4 * waves * csx}) {
          std::map<std::int64_t, int> seen;
          std::int64_t next = 0;
          for (std::int64_t w = 0; w < waves; ++w)
            for (int i = 0; i < csx; ++i) {
              const SampleRange range = csx_leaves(leaves, waves, csx, w, i);
              for (std::int64_t k = range.first; k < range.last; ++k) {
                const SampleRange samples = leaf_samples(batch, leaves, k);
                EXPECT_EQ(samples.first, next);  // leaves in order are the batch in order
                next = samples.last;
                for (std::int64_t s = samples.first; s < samples.last; ++s) ++seen[s];
              }
            }
          EXPECT_EQ(static_cast<std::int64_t>(seen.size()), batch);
          for (const auto& [sample, count] : seen) EXPECT_EQ(count, 1) << sample;
        }
}

TEST(Plan, OrderedPartsAreWholeSubtreesAndTilesAreThoseOfEveryLayout) {
  for (const auto& [leaves, waves, csx] :
       std::vector<std::array<int, 3>>{{8, 1, 1}, {8, 2, 4}, {8, 8, 1}, {12, 1, 3}, {12, 3, 4}, {7, 1, 1}, {7, 1, 7}})
    EXPECT_TRUE(whole_subtrees(leaves, waves, csx)) << leaves << " " << waves << " " << csx;
  for (const auto& [leaves, waves, csx] :
       std::vector<std::array<int, 3>>{{8, 1, 3}, {8, 3, 1}, {8, 4, 4}, {12, 1, 2}, {12, 2, 1}, {7, 1, 2}})
    EXPECT_FALSE(whole_subtrees(leaves, waves, csx)) << leaves << " " << waves << " " << csx;

  const Graph graph = models::build(small().model);
  Request r = request(1, 1);
  r.ordered = true;
  r.batch = 16;
  EXPECT_THROW(make_plan(graph, r), SettingsError);  // how many leaves?
  r.leaves = 8;
  const Plan one = make_plan(graph, r);
  EXPECT_EQ(one.leaf_sums, 3);  // log2 of 8
  for (const int csx : {2, 4, 8}) {
    r.layout.csx = csx;
    const Plan plan = make_plan(graph, r);
    EXPECT_EQ(1 << plan.leaf_sums, 8 / csx);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) EXPECT_EQ(plan.stages[s].tile_rows, one.stages[s].tile_rows);
  }
  r.layout.csx = 3;
  EXPECT_THROW(make_plan(graph, r), SettingsError);
}

TEST(Plan, BudgetIsKeptBySmallerTilesThenRecomputeThenWaves) {
  const Graph graph = models::build(small().model);
  Request r = request(1, 1);
  r.batch = 64;
  const Plan free = make_plan(graph, r);
  EXPECT_EQ(free.waves, 1);
  EXPECT_FALSE(free.stages[1].recompute);
  std::int64_t before = free.bytes.total();
  bool recomputed = false, waved = false;
  for (double part = 0.99; part > 0.5; part -= 0.01) {
    r.memory = free.bytes.library + static_cast<std::int64_t>(part * part * static_cast<double>(free.bytes.total() - free.bytes.library));
    const Plan plan = make_plan(graph, r);
    if (!plan.fits) break;
    EXPECT_LE(plan.bytes.total(), r.memory);
    EXPECT_LE(plan.bytes.total(), before);
    before = std::max(before, plan.bytes.total());
    recomputed |= plan.stages[1].recompute;
    waved |= plan.waves > 1;
  }
  EXPECT_TRUE(recomputed);
}

TEST(Plan, WeightsOfSixteenBitsHalveWindowAndWire) {
  const Graph graph = models::build(small().model);
  const Plan full = make_plan(graph, request(2, 2));
  EXPECT_EQ(full.bytes.compute_copy, 0);
  for (const Precision format : {Precision::bf16, Precision::fp16, Precision::cb16}) {
    Request r = request(2, 2);
    r.wire_weights = format;
    const Plan half = make_plan(graph, r);
    EXPECT_EQ(half.schedule().weights, format);
    EXPECT_EQ(2 * wire_bytes(half).to_each_window, wire_bytes(full).to_each_window);
    EXPECT_EQ(wire_bytes(half).from_each_csx, wire_bytes(full).from_each_csx);
    EXPECT_NEAR(static_cast<double>(2 * half.bytes.weight_window), static_cast<double>(full.bytes.weight_window), 1024);
    EXPECT_EQ(2 * shard_bytes(half, 2).weights, 3 * shard_bytes(full, 2).weights);  // masters and their copy
    std::int64_t most = 0;
    for (const PlannedVisit& visit : half.visits) {
      std::int64_t bytes = 0;
      for (const BlockId b : visit.stream.receives) bytes += 4 * aligned(graph[b].elements);
      most = std::max(most, bytes);
      for (const std::int64_t offset : visit.stream.window_offsets) EXPECT_EQ(2 * offset % 64, 0);
    }
    EXPECT_EQ(half.bytes.compute_copy, most);
  }
}

TEST(Plan, DepthCostsOnlyTheActivationsThatArePlanned) {
  Settings shallow = small(), deep = small();
  shallow.model.num_hidden_layers = 8;
  deep.model.num_hidden_layers = 32;
  Request r = request(2, 2);
  r.recompute = "on";
  const Plan a = make_plan(models::build(shallow.model), r), b = make_plan(models::build(deep.model), r);
  EXPECT_EQ(a.bytes.weight_window, b.bytes.weight_window);
  EXPECT_EQ(a.bytes.gradient_buffers, b.bytes.gradient_buffers);
  // Full recompute keeps the input of every stage: 24 layers × 2 stages × rows × width × 4 bytes.
  EXPECT_EQ(b.bytes.activations - a.bytes.activations, 48 * a.wave_rows * 64 * 4);
}

TEST(Split, ShardsCoverEveryBlockAtRowBoundariesInNearlyEqualParts) {
  const Graph graph = models::build(small().model);
  for (const int shards : {1, 2, 3, 7}) {
    const auto splits = split_blocks(graph, shards);
    std::vector<std::int64_t> load(static_cast<std::size_t>(shards), 0);
    for (std::size_t b = 0; b < splits.size(); ++b) {
      ASSERT_EQ(splits[b].bounds.size(), static_cast<std::size_t>(shards) + 1);
      EXPECT_EQ(splits[b].bounds.front(), 0);
      EXPECT_EQ(splits[b].bounds.back(), graph.blocks[b].elements);
      for (int m = 0; m < shards; ++m) load[m] += splits[b].bounds[m + 1] - splits[b].bounds[m];
      for (const std::int64_t bound : splits[b].bounds)
        for (const WeightId w : graph.blocks[b].weights)
          if (bound > graph[w].offset && bound < graph[w].offset + graph[w].elements())
            EXPECT_EQ((bound - graph[w].offset) % graph[w].columns, 0) << graph.blocks[b].name;
    }
    for (const std::int64_t n : load) EXPECT_NEAR(static_cast<double>(n) * shards / static_cast<double>(load[0] * shards), 1, 0.1);
  }
}

TEST(Flops, PublishedClosedFormOfCerebrasGpt) {
  // cerebras.md 2.6: tokens × [3 (24Ld² + 8LTd + 2Vd) + 4Vd]
  const Settings s = read_settings(std::string(WSC_SOURCE_DIR) + "/inputs/cerebras-gpt-111m.cfg");
  const Graph graph = models::build(s.model);
  Request r = request(1, 1);
  r.batch = 120;
  r.tokens = 2048;
  const Flops flops = flops_per_token(graph, make_plan(graph, r));
  const double L = 10, d = 768, T = 2048, V = 50257;
  EXPECT_DOUBLE_EQ(flops.training, 3 * (24 * L * d * d + 8 * L * T * d + 2 * V * d) + 4 * V * d);
  EXPECT_DOUBLE_EQ(flops.model, 3 * (24 * L * d * d + 4 * L * T * d + 2 * V * d));
}

}  // namespace
}  // namespace wsc::plan
