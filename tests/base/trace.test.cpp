// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/trace.hpp"

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace wsc::trace {
namespace {

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

TEST(Trace, OffLeavesNothing) {
  stop();
  take(7);
  set_thread(7, "main");
  {
    const Span span("unseen");
    nap();
  }
  EXPECT_TRUE(take(7).empty());
}

TEST(Trace, SpansOfAThreadNestAndRanksAreApart) {
  set_thread(7, "main");
  start(7);
  {
    const Span outer("outer", "part", 3);
    nap();
    {
      const Span inner("inner");
      nap();
    }
    std::thread([] {
      set_thread(8, "other");
      const Span span("of rank 8");
      nap();
    }).join();
  }
  stop();
  const auto mine = take(7), others = take(8);
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_EQ(mine[0].name, "main");
  ASSERT_EQ(mine[0].events.size(), 2u);  // in the order of their ends
  const Event &inner = mine[0].events[0], &outer = mine[0].events[1];
  EXPECT_STREQ(inner.what, "inner");
  EXPECT_STREQ(outer.detail, "part");
  EXPECT_EQ(outer.number, 3);
  EXPECT_LT(outer.begin_s, inner.begin_s);
  EXPECT_LT(inner.begin_s, inner.end_s);
  EXPECT_LE(inner.end_s, outer.end_s);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_STREQ(others[0].events.at(0).what, "of rank 8");
  EXPECT_TRUE(take(7).empty());
}

TEST(Trace, ABufferHasALimitAndSaysWhatItDropped) {
  set_thread(7, "main");
  start(7);
  for (int i = 0; i < 200'010; ++i) add({"event", nullptr, 1, 2});
  stop();
  const auto taken = take(7);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].events.size(), 200'000u);
  EXPECT_EQ(taken[0].dropped, 10);
}

}  // namespace
}  // namespace wsc::trace
