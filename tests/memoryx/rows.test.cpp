// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>

#include "tests/memoryx/small_gpt.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wsc/base/random.hpp"
#include "wsc/memoryx/shard.hpp"
#include "wsc/plan/row_blocks.hpp"
#include "wsc/plan/split.hpp"

namespace wsc::memoryx {
namespace {

constexpr std::int64_t V = 211, C = 16, shards = 3;

OptimizerSettings momentum() {
  OptimizerSettings s{};
  s.optimizer_type = "SGD";
  s.momentum = 0.9;
  s.weight_decay_rate = 0.1;
  return s;
}

/// The table of a model, on shards that get whole gradients and on shards that send and get rows.
class Rows : public testing::TestWithParam<std::tuple<bool, Precision>> {
 protected:
  Rows() {
    for (const Stage& stage : graph_.stages)
      for (const Op& op : stage.ops)
        if (const auto* e = std::get_if<Embedding>(&op)) rows_ = {BlockId(graph_.blocks.size()), e->table, V, C, V / 3};
    table_ = graph_[rows_.table].block;
    for (std::size_t m = 0; m < shards; ++m) {
      whole_.emplace_back(graph_, splits_, fabric::ShardId(m), momentum(), wire());
      by_rows_.emplace_back(graph_, splits_, fabric::ShardId(m), momentum(), wire());
      whole_.back().initialise(3);
      by_rows_.back().initialise(3);
    }
  }

  /// A pass that uses a random third of the rows.
  void begin_pass(int pass) {
    used_.clear();
    const RandomKey key(1, "rows", "", static_cast<std::uint64_t>(pass));
    for (std::int64_t r = 0; r < V; ++r)
      if (std::ssize(used_) < rows_.largest_rows && key.bits(0, static_cast<std::uint64_t>(r))[0] % 3 == 0) used_.push_back(r);
    fabric::StreamSchedule schedule{.blocks = splits_, .visits = {}};
    const std::vector<plan::RowBlock> blocks{rows_};
    schedule.blocks.push_back(plan::largest_split(rows_, shards));
    bounds_ = plan::with_rows(schedule, graph_, blocks, used_).blocks.back().bounds;
    for (std::size_t m = 0; m < shards; ++m)
      by_rows_[m].use_rows({{rows_.id, table_, C, bounds_[m], {used_.begin() + bounds_[m] / C, used_.begin() + bounds_[m + 1] / C}}});
  }

  /// Rows go out in pieces cut anywhere; what goes out are the updated rows of the table.
  void send_rows() {
    const std::int64_t size = bytes_of(wire());
    for (std::size_t m = 0; m < shards; ++m) {
      const std::int64_t table_begin = splits_[table_.index].bounds[m], table_end = splits_[table_.index].bounds[m + 1];
      const std::byte* const table = static_cast<std::byte*>(whole_[m].on_send(table_, table_begin, table_end));
      for (std::int64_t from = bounds_[m]; from < bounds_[m + 1]; from += 37) {
        const std::int64_t to = std::min(from + 37, bounds_[m + 1]);
        const std::byte* const sent = static_cast<std::byte*>(by_rows_[m].on_send(rows_.id, from, to));
        for (std::int64_t i = from; i < to; ++i)
          ASSERT_EQ(std::memcmp(sent + (i - from) * size, table + (used_[i / C] * C + i % C - table_begin) * size, size), 0);
      }
    }
  }

  float head_gradient(int pass, std::int64_t i) const { return static_cast<float>(RandomKey(1, "head", "", pass).normal(0, i)); }
  float row_gradient(int pass, std::int64_t i) const { return static_cast<float>(RandomKey(1, "row", "", pass).normal(0, i)); }

  void take_gradients(int pass, std::optional<std::int64_t> broken = {}) {
    for (std::size_t m = 0; m < shards; ++m) {
      const std::int64_t begin = splits_[table_.index].bounds[m], end = splits_[table_.index].bounds[m + 1];
      if (tied()) {  // the head's comes first
        for (Shard* s : {&whole_[m], &by_rows_[m]}) {
          float* const sum = s->gradient(table_);
          for (std::int64_t i = begin; i < std::min(end, V * C); ++i) sum[i - begin] += head_gradient(pass, i);
          s->on_gradient(table_, s == &by_rows_[m]);
        }
      }
      float* const sum = whole_[m].gradient(table_);
      for (const std::int64_t row : used_)
        for (std::int64_t i = std::max(begin, row * C); i < std::min(end, (row + 1) * C); ++i) sum[i - begin] += row_gradient(pass, i);
      if (broken && begin <= *broken && *broken < end) sum[*broken - begin] = std::numeric_limits<float>::infinity();
      whole_[m].on_gradient(table_, true);
      if (bounds_[m] == bounds_[m + 1]) continue;
      float* const rows = by_rows_[m].gradient(rows_.id);
      for (std::int64_t i = bounds_[m]; i < bounds_[m + 1]; ++i) {
        const std::int64_t place = used_[i / C] * C + i % C;
        rows[i - bounds_[m]] += place == broken ? std::numeric_limits<float>::infinity() : row_gradient(pass, place);
      }
      by_rows_[m].on_gradient(rows_.id, true);
    }
  }

  void expect_equal_norms() {
    for (std::size_t m = 0; m < shards; ++m) {
      EXPECT_EQ(by_rows_[m].non_finite_parameter(), whole_[m].non_finite_parameter());
      const double a = by_rows_[m].take_squared_norm().value(), b = whole_[m].take_squared_norm().value();
      EXPECT_TRUE(a == b || !std::isfinite(b)) << a << " " << b;
    }
  }

  void decide(const UpdateDecision& decision) {
    for (std::size_t m = 0; m < shards; ++m) {
      whole_[m].decide(decision);
      by_rows_[m].decide(decision);
    }
  }

  void expect_equal_states() {
    for (std::size_t m = 0; m < shards; ++m) {
      const auto a = by_rows_[m].pieces(), b = whole_[m].pieces();
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t p = 0; p < a.size(); ++p) {
        EXPECT_TRUE(std::ranges::equal(a[p].weight, b[p].weight)) << graph_[a[p].param].name;
        EXPECT_TRUE(std::ranges::equal(a[p].states[0], b[p].states[0])) << graph_[a[p].param].name;
      }
    }
  }

  static bool tied() { return std::get<0>(GetParam()); }
  static Precision wire() { return std::get<1>(GetParam()); }

  Graph graph_ = small_gpt(V, C, tied());
  std::vector<fabric::BlockSplit> splits_ = plan::split_blocks(graph_, shards);
  plan::RowBlock rows_;
  BlockId table_;
  std::deque<Shard> whole_, by_rows_;
  std::vector<std::int64_t> used_, bounds_;
};

TEST_P(Rows, GiveTheWeightsAndNormsOfTheWholeTable) {
  for (int pass = 0; pass < 4; ++pass) {
    begin_pass(pass);
    send_rows();
    take_gradients(pass);
    expect_equal_norms();
    decide({.skip = pass == 2, .gradient_factor = 0.5, .learning_rate = 0.1, .optimizer_step = pass + 1});
  }
  // Passes without gradients, in each of which other rows go ahead, then a part of the table.
  begin_pass(10);
  send_rows();
  begin_pass(11);
  send_rows();
  for (std::size_t m = 0; m < shards; ++m) {
    const std::int64_t begin = splits_[table_.index].bounds[m];
    by_rows_[m].on_send(table_, begin, begin + 5 * C + 3);
  }
  begin_pass(12);
  send_rows();
  expect_equal_states();
}

TEST_P(Rows, AGradientThatIsNotFiniteIsSeen) {
  begin_pass(0);
  take_gradients(0, used_[used_.size() / 2] * C + 1);
  EXPECT_NE(by_rows_[1].non_finite_parameter(), "");
  expect_equal_norms();
}

INSTANTIATE_TEST_SUITE_P(TiedAndNot, Rows, testing::Combine(testing::Bool(), testing::Values(Precision::fp32, Precision::bf16)),
                         [](const auto& info) { return (std::get<0>(info.param) ? "Tied" : "Untied") + name(std::get<1>(info.param)); });

}  // namespace
}  // namespace wsc::memoryx
