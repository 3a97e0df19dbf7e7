// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fabric/stream_script.hpp"
#include <gtest/gtest.h>

namespace wsc::fabric {
namespace {

TEST(NullStreams, GiveExactNumbers) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const script::Shape shape{.stages = 2 + static_cast<int>(seed % 5),
                              .waves = 1 + static_cast<int>(seed % 7),
                              .ordered = seed % 2 == 1,
                              .weights = static_cast<Precision>(seed % 4)};
    const StreamSchedule schedule = script::random_schedule(seed, 1, shape);
    script::Shard shard(schedule, ShardId(0), 1, seed);
    const auto streams = make_null_streams(shard);
    script::Jitter jitter(seed);
    for (int pass = 0; pass < 3; ++pass) {
      shard.begin_pass(pass);
      EXPECT_NO_THROW(script::csx_pass(*streams, schedule, CsxId(0), pass, jitter)) << seed;
      EXPECT_NO_THROW(shard.end_pass());
    }
    EXPECT_EQ(streams->exposed_wait().total(), 0);
  }
}

TEST(NullStreams, CopyNothing) {
  StreamSchedule schedule;
  schedule.blocks = {{8, {0, 8}}};
  schedule.visits = {
      {.receives = {BlockId(0)}, .window_offsets = {0}, .gradients = {BlockId(0)}, .gradient_offsets = {0}, .gradient_is_last = {true}}};
  schedule.window_elements = schedule.gradient_elements = 8;
  script::Shard shard(schedule, ShardId(0), 1, 1);
  shard.begin_pass(0);
  const auto streams = make_null_streams(shard);
  streams->begin(schedule);
  EXPECT_EQ(streams->wait(0).at(0), shard.weights[0].data());
  EXPECT_EQ(streams->gradients(0).at(0), shard.sums[0].data());
}

}  // namespace
}  // namespace wsc::fabric
