// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/arena.hpp"

#include <random>

#include <gtest/gtest.h>

namespace wsc::plan {
namespace {

bool overlap(std::int64_t a, std::int64_t a_size, std::int64_t b, std::int64_t b_size) { return a < b + b_size && b < a + a_size; }

TEST(Pack, ArraysThatLiveTogetherNeverOverlapAndTheRegionIsTight) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<Interval> intervals;
    for (int i = 0; i < 60; ++i) {
      const int begin = static_cast<int>(random() % 40);
      intervals.push_back({begin, begin + static_cast<int>(random() % 10), static_cast<std::int64_t>(random() % 500), -1});
    }
    const std::int64_t size = pack(intervals);
    std::int64_t most = 0;
    for (int t = 0; t < 60; ++t) {
      std::int64_t live = 0;
      for (const auto& i : intervals)
        if (i.begin <= t && t <= i.end) live += aligned(i.elements);
      most = std::max(most, live);
    }
    EXPECT_LE(size, 2 * most);
    EXPECT_GE(size, most);
    for (std::size_t a = 0; a < intervals.size(); ++a) {
      EXPECT_EQ(intervals[a].offset % 16, 0);
      EXPECT_LE(intervals[a].offset + intervals[a].elements, size);
      for (std::size_t b = a + 1; b < intervals.size(); ++b)
        if (intervals[a].begin <= intervals[b].end && intervals[b].begin <= intervals[a].end)
          EXPECT_FALSE(overlap(intervals[a].offset, intervals[a].elements, intervals[b].offset, intervals[b].elements));
    }
  }
}

TEST(Pack, ReusesWhatIsFree) {
  std::vector<Interval> intervals{{0, 9, 160, -1}, {1, 2, 320, -1}, {3, 4, 320, -1}, {5, 5, 16, -1}};
  EXPECT_EQ(pack(intervals), 480);
}

TEST(PackCyclic, NeighboursOnTheCircleNeverOverlap) {
  std::mt19937 random(2);
  for (const int reach : {0, 1, 3}) {
    std::vector<CyclicItem> items;
    const int period = 12;
    for (int at = 0; at < period; ++at)
      for (int k = 0; k < static_cast<int>(random() % 3); ++k) items.push_back({at, static_cast<std::int64_t>(1 + random() % 300), -1});
    const std::int64_t size = pack_cyclic(items, period, reach);
    for (std::size_t a = 0; a < items.size(); ++a)
      for (std::size_t b = a + 1; b < items.size(); ++b) {
        const int gap = std::abs(items[a].at - items[b].at);
        if (std::min(gap, period - gap) <= reach)
          EXPECT_FALSE(overlap(items[a].offset, items[a].elements, items[b].offset, items[b].elements));
        EXPECT_LE(items[a].offset + items[a].elements, size);
      }
  }
}

}  // namespace
}  // namespace wsc::plan
