// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace wsc::data {
namespace {

std::vector<std::int64_t> epoch_of(const Sampler& s, std::int64_t epoch) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < s.samples(); ++i) order.push_back(s.sample(epoch * s.samples() + i));
  return order;
}

TEST(Sampler, EveryEpochHoldsEverySampleOnce) {
  for (std::int64_t n : {1, 2, 3, 4, 5, 16, 17, 64, 65, 1000, 4097}) {
    const Sampler s(n, true, 42);
    for (std::int64_t epoch : {0, 1, 7}) {
      auto order = epoch_of(s, epoch);
      std::sort(order.begin(), order.end());
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(order[i], i) << n;
    }
    EXPECT_EQ(s.epoch(n), 1);
    EXPECT_EQ(s.epoch(3 * n - 1), 2);
  }
}

TEST(Sampler, OrderIsFixedBySeedAndEpoch) {
  const Sampler a(1000, true, 1), again(1000, true, 1), b(1000, true, 2);
  EXPECT_EQ(epoch_of(a, 0), epoch_of(again, 0));
  EXPECT_NE(epoch_of(a, 0), epoch_of(a, 1));
  EXPECT_NE(epoch_of(a, 0), epoch_of(b, 0));
  // Written down once: old runs have to go on with the same data.
  const Sampler small(10, true, 1);
  EXPECT_EQ(epoch_of(small, 0), (std::vector<std::int64_t>{2, 7, 5, 1, 8, 9, 3, 6, 0, 4}));
}

TEST(Sampler, WithoutShuffleTheOrderIsThatOfTheFiles) {
  const Sampler s(5, false, 1);
  for (std::int64_t p = 0; p < 20; ++p) EXPECT_EQ(s.sample(p), p % 5);
}

TEST(Sampler, WindowsMoveFromEpochToEpochAndNotInTheFirst) {
  const Sampler sampler(10, true, 3), again(10, true, 3), ordered(10, false, 3);
  std::set<std::int64_t> shifts;
  for (std::int64_t position = 0; position < 400; ++position) {
    const std::int64_t shift = sampler.window_shift(position, 64);
    EXPECT_EQ(shift, again.window_shift(position, 64));
    EXPECT_EQ(shift, sampler.window_shift(position / 10 * 10, 64));  // one shift an epoch: windows of an epoch never overlap
    EXPECT_TRUE(0 <= shift && shift < 64);
    EXPECT_EQ(ordered.window_shift(position, 64), 0);
    EXPECT_TRUE(position >= 10 || shift == 0);
    shifts.insert(shift);
  }
  EXPECT_GT(shifts.size(), 20u);
}

TEST(Sampler, HugeSetsCostNothing) {
  const std::int64_t n = (std::int64_t{1} << 50) + 12'345;
  const Sampler s(n, true, 3);
  for (std::int64_t p : {std::int64_t{0}, n - 1, n, 5 * n + 17}) {
    EXPECT_GE(s.sample(p), 0);
    EXPECT_LT(s.sample(p), n);
  }
}

TEST(Sampler, LooksRandom) {
  // Which of 4 quarters the first 1000 of 4000 samples come from, over 40 seeds: counts around 10000 each (σ < 87).
  std::vector<int> quarter(4);
  double lag = 0;  // correlation of neighbours
  for (std::int64_t seed = 0; seed < 40; ++seed) {
    const Sampler s(4000, true, seed);
    for (std::int64_t p = 0; p < 1000; ++p) {
      ++quarter[s.sample(p) / 1000];
      lag += (s.sample(p) / 4000.0 - 0.5) * (s.sample(p + 1) / 4000.0 - 0.5) * 12;
    }
  }
  for (int count : quarter) EXPECT_NEAR(count, 10'000, 5 * 87);
  EXPECT_NEAR(lag / 40'000, 0, 5 / std::sqrt(40'000.0));

  // All 24 orders of 4 samples occur, roughly equally often (4800 seeds: 200 each, σ = 14).
  std::map<std::vector<std::int64_t>, int> orders;
  for (std::int64_t seed = 0; seed < 4800; ++seed) ++orders[epoch_of(Sampler(4, true, seed), 0)];
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 200, 5 * 14);
}

}  // namespace
}  // namespace wsc::data
