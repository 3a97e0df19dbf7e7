// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/schedule.hpp"

#include "tests/fabric/stream_script.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wsc::fabric {
namespace {

using testing::HasSubstr;

// Two blocks of 8 elements, each received and sent back once, in a window of two places.
StreamSchedule two_blocks() {
  StreamSchedule s;
  s.blocks = {{8, {0, 3, 8}}, {8, {0, 0, 8}}};
  for (int i = 0; i < 2; ++i) {
    s.visits.push_back({.receives = {BlockId(i)},
                        .window_offsets = {8 * i},
                        .gradients = {BlockId(i)},
                        .gradient_offsets = {8 * i},
                        .gradient_is_last = {true}});
  }
  s.prefetch = 1;
  s.window_elements = s.gradient_elements = 16;
  return s;
}

TEST(Schedule, HasNoFlaw) { EXPECT_EQ(flaw(two_blocks(), 2), ""); }

TEST(Schedule, FlawsAreNamed) {
  const auto changed = [](auto change) {
    StreamSchedule s = two_blocks();
    change(s);
    return flaw(s, 2);
  };
  EXPECT_THAT(flaw(two_blocks(), 3), HasSubstr("not split over 3 shards"));
  EXPECT_THAT(changed([](auto& s) { s.prefetch = -1; }), HasSubstr("prefetch"));
  EXPECT_THAT(changed([](auto& s) { s.blocks[1].bounds = {0, 9, 8}; }), HasSubstr("block 1 has bounds out of order"));
  EXPECT_THAT(changed([](auto& s) { s.blocks[1].bounds = {0, 3, 7}; }), HasSubstr("not covered"));
  EXPECT_THAT(changed([](auto& s) { s.visits[1].window_offsets[0] = 7; }), HasSubstr("visit 1 overlaps visit 0"));
  EXPECT_THAT(changed([](auto& s) { s.visits[1].window_offsets[0] = 9; }), HasSubstr("outside"));
  EXPECT_THAT(changed([](auto& s) { s.visits[1].gradient_offsets[0] = -1; }), HasSubstr("outside"));
  EXPECT_THAT(changed([](auto& s) { s.visits[0].receives[0] = BlockId(2); }), HasSubstr("does not exist"));
  EXPECT_THAT(changed([](auto& s) { s.visits[0].window_offsets.clear(); }), HasSubstr("offsets"));
  EXPECT_THAT(changed([](auto& s) { s.visits[0].gradient_is_last.clear(); }), HasSubstr("last"));
}

TEST(Schedule, PlacesMayBeReusedOnceTheirVisitIsOver) {
  StreamSchedule s = two_blocks();
  s.visits[1].window_offsets[0] = 0;
  EXPECT_THAT(flaw(s, 2), HasSubstr("overlaps"));
  s.prefetch = 0;
  EXPECT_EQ(flaw(s, 2), "");
}

}  // namespace
}  // namespace wsc::fabric
