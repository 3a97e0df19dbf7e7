// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/timeline.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "wsc/fabric/world.hpp"

namespace wsc::train {
namespace {

// Threads of one process share a clock, so the true shift is 0.
TEST(Timeline, TheShiftOfAClockLiesWithinItsError) {
  fabric::run_loopback({1, 3}, {.chunk_bytes = 1024, .messages_in_flight = 2}, [](fabric::Channel& channel) {
    Control control(&channel);
    const ClockShift clock = align_clock(control);
    EXPECT_LE(std::abs(clock.shift_s), clock.error_s);
    EXPECT_LT(clock.error_s, 10) << "a round takes no such time";
    if (control.leads()) EXPECT_EQ(clock.error_s, 0);
  });
}

}  // namespace
}  // namespace wsc::train
