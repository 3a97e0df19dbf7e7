// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/checkpoint/shard_writer.hpp"

#include <deque>
#include <thread>

#include "tests/checkpoint/helpers.hpp"
#include "tests/memoryx/small_gpt.hpp"

#include "wsc/plan/split.hpp"

namespace wsc::checkpoint::testing {
namespace {

using ::testing::HasSubstr;

OptimizerSettings adamw() {
  OptimizerSettings s{};
  s.optimizer_type = "AdamW";
  s.beta1 = 0.9;
  s.beta2 = 0.95;
  s.eps = 1e-8;
  s.weight_decay_rate = 0.1;
  s.correct_bias = true;
  s.eps_mode = "pytorch";
  return s;
}

memoryx::UpdateDecision decision(int step, bool skip = false) {
  return {.skip = skip, .gradient_factor = 1.0, .learning_rate = 1e-3 * step, .optimizer_step = step};
}

constexpr std::int64_t rows = 9001, columns = 64;  // of the table

/// A model on two shards that goes through the motions of training.
struct Store {
  static constexpr int shard_count = 2;
  const Graph& graph;
  std::vector<fabric::BlockSplit> splits = plan::split_blocks(graph, shard_count);
  std::deque<memoryx::Shard> shards;
  BlockId table = graph[graph[ParamId(0)].weight].block;  // the word embedding

  explicit Store(const Graph& g) : graph(g) {
    for (int m = 0; m < shard_count; ++m) shards.emplace_back(graph, splits, fabric::ShardId(m), adamw()).initialise(5);
  }

  /// Some rows of the table go ahead of the rest.
  void send_rows(int pass) {
    for (int m = 0; m < shard_count; ++m) {
      const std::vector<std::int64_t>& bounds = splits[table.index].bounds;
      memoryx::Shard::RowUse use{BlockId(graph.blocks.size()), table, columns, 0, {}};
      for (std::int64_t row = bounds[m] / columns + pass % 5; (row + 1) * columns <= std::min(bounds[m + 1], rows * columns); row += 41)
        use.rows.push_back(row);
      const std::int64_t elements = std::ssize(use.rows) * columns;
      shards[m].use_rows({use});
      for (std::int64_t from = 0; from < elements; from += 1000) shards[m].on_send(use.block, from, std::min(from + 1000, elements));
      shards[m].use_rows({});
    }
  }

  void send(BlockId block) {
    for (int m = 0; m < shard_count; ++m) {
      const std::int64_t begin = splits[block.index].bounds[m], end = splits[block.index].bounds[m + 1];
      for (std::int64_t from = begin; from < end; from += 50'001) shards[m].on_send(block, from, std::min(from + 50'001, end));
    }
  }

  void train(int pass) {
    send_rows(pass);
    for (std::size_t b = 0; b < splits.size(); ++b) {
      send(BlockId(b));
      for (int m = 0; m < shard_count; ++m) {
        const std::int64_t begin = splits[b].bounds[m], end = splits[b].bounds[m + 1];
        float* const sum = shards[m].gradient(BlockId(b));
        for (std::int64_t i = begin; i < end; ++i) sum[i - begin] += static_cast<float>((i * 7919 + pass * 104729) % 1009) / 1009 - 0.5f;
      }
    }
  }

  void decide(const memoryx::UpdateDecision& d) {
    for (memoryx::Shard& s : shards) s.decide(d);
  }
};

/// Saves of a store while it goes on, and of its twin at rest: the files are the same, to the last byte.
class Beside : public TempDir {
 protected:
  Beside() {
    for (Store* s : {&moving, &resting}) s->train(0);
  }

  std::string saved_at_rest() {
    const SaveFile file = create_partial(dir / "resting", g, state_at(1));
    std::vector<PieceChecksum> sums;
    for (memoryx::Shard& s : resting.shards) append(sums, write_pieces(file, g, s.pieces()));
    return bytes_of(finish(file, g, sums));
  }
  void open() {
    file = create_partial(dir / "moving", g, state_at(1));
    for (memoryx::Shard& s : moving.shards) s.let_read(&writers.emplace_back(file, g, s.places()));
  }
  std::string collected() {
    std::vector<PieceChecksum> sums;
    for (int m = 0; m < Store::shard_count; ++m) {
      moving.shards[m].apply_pending();
      moving.shards[m].let_read(nullptr);
      append(sums, writers[m].finish());
      EXPECT_TRUE(writers[m].done());
    }
    writers.clear();
    return bytes_of(finish(file, g, sums));
  }
  static void append(std::vector<PieceChecksum>& to, const std::vector<PieceChecksum>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }
  /// Both stores have had the same updates in the end.
  void expect_equal_ends() {
    open();
    EXPECT_TRUE(collected() == saved_at_rest());
  }

  const Graph g = memoryx::small_gpt(rows);  // a table of several units per shard, blocks of less than one
  Store moving{g}, resting{g};
  SaveFile file;
  std::deque<ShardWriter> writers;
};

TEST_F(Beside, UpdatesGoOn) {
  for (const bool starved : {false, true}) {  // where the thread has no time between two updates, the second one writes
    for (Store* s : {&moving, &resting}) s->decide(decision(1));
    open();
    const std::string expected = saved_at_rest();
    for (int pass = 1; pass < 4; ++pass) {
      for (Store* s : {&moving, &resting}) {
        s->train(pass);
        s->decide(decision(pass + 1));
      }
      if (!starved) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(collected() == expected) << "starved: " << starved;
  }
  expect_equal_ends();
}

TEST_F(Beside, CollectedAtOnceItIsASaveThatBlocks) {
  for (Store* s : {&moving, &resting}) s->decide(decision(1));
  open();
  EXPECT_TRUE(collected() == saved_at_rest());
}

TEST_F(Beside, PassesWithoutGradientsBeforeAndAfter) {
  for (Store* s : {&moving, &resting}) s->decide(decision(1));
  moving.send_rows(3);  // some rows and one block have been updated at the opening, others not
  moving.send(BlockId(1));
  open();
  const std::string expected = saved_at_rest();
  moving.send_rows(4);
  moving.send_rows(5);
  for (Store* s : {&moving, &resting}) {
    s->train(1);
    s->decide(decision(2));
    s->train(2);
  }
  EXPECT_TRUE(collected() == expected);
  expect_equal_ends();
}

TEST_F(Beside, StepsThatAreSkipped) {
  for (Store* s : {&moving, &resting}) s->decide(decision(1, true));
  open();
  const std::string expected = saved_at_rest();
  for (Store* s : {&moving, &resting}) {
    s->train(1);
    s->decide(decision(1, true));
    s->train(2);
    s->decide(decision(1));
    s->train(3);
  }
  EXPECT_TRUE(collected() == expected);
  expect_equal_ends();
}

TEST_F(Beside, AFailingWriteHoldsNobodyUp) {
  moving.decide(decision(1));
  open();
  SaveFile full = file;
  full.path = "/dev/full";
  std::deque<ShardWriter> failing;
  for (memoryx::Shard& s : moving.shards) s.let_read(&failing.emplace_back(full, g, s.places()));
  for (int pass = 1; pass < 3; ++pass) {
    moving.train(pass);
    moving.decide(decision(pass + 1));
  }
  for (int m = 0; m < Store::shard_count; ++m) {
    moving.shards[m].let_read(nullptr);
    EXPECT_TRUE(failing[m].done());
    EXPECT_THAT(message_of<SystemError>([&] { failing[m].finish(); }), HasSubstr("No space left"));
  }
}

TEST_F(Beside, AWriterIsGivenUp) {
  moving.decide(decision(1));
  open();
  moving.send(BlockId(1));
  for (memoryx::Shard& s : moving.shards) s.let_read(nullptr);
  EXPECT_FALSE(writers[0].done());
  writers.clear();  // returns, though most has never become readable
}

}  // namespace
}  // namespace wsc::checkpoint::testing
