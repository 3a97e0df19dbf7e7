// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "tests/fabric/stream_script.hpp"
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "wsc/base/clock.hpp"
#include "wsc/base/error.hpp"

namespace wsc::fabric {
namespace {

const std::vector<Layout> layouts = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 2}, {2, 3}};

class LoopbackLayouts : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(LoopbackLayouts, StreamsExactNumbers) {
  const Layout layout = layouts[static_cast<std::size_t>(std::get<0>(GetParam()))];
  const int prefetch = std::get<1>(GetParam());
  const ChannelSettings channels[] = {{64, 1, 0}, {1000, 3, 1}, {1 << 20, 2, 2}};
  for (unsigned seed = 0; seed < 9; ++seed) {
    const bool ordered = seed >= 6;
    const script::Shape shape{.stages = 2 + static_cast<int>(seed % 6),
                              .waves = ordered ? 1 << (seed - 6) : 1 + static_cast<int>(seed % 3),
                              .prefetch = prefetch,
                              .one_gradient_buffer = seed % 2 == 1,
                              .ordered = ordered,
                              .weights = static_cast<Precision>(seed % 4)};
    const StreamSchedule schedule = script::random_schedule(seed * 7919 + 1, layout.memoryx, shape);
    ChannelSettings settings = channels[seed % 3];
    settings.ordered = ordered;
    EXPECT_NO_THROW(
        run_loopback(layout, settings, [&](Channel& channel) { script::run_rank(channel, schedule, 3, seed, settings.csx_per_window); }))
        << layout.memoryx << " x " << layout.csx << ", prefetch " << prefetch << ", seed " << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(All, LoopbackLayouts, testing::Combine(testing::Range(0, 6), testing::Values(0, 1, 3)));

TEST(Loopback, ASlowCsxHoldsTheWindowItShares) {
  // Three csx read one window of one block. Each block overwrites the one before it: never while the slowest still reads.
  constexpr int blocks = 20, elements = 5000;
  std::array<float*, 3> seen{};
  run_loopback({1, 3}, {4096, 3}, [&](Channel& channel) {
    const bool memoryx = channel.rank() == Rank(0);
    std::vector<float> mine(elements);
    float* const window = memoryx ? mine.data() : reinterpret_cast<float*>(channel.window(elements * 4));
    if (!memoryx) seen[static_cast<std::size_t>(channel.rank().index) - 1] = window;
    for (int b = 0; b < blocks; ++b) {
      if (memoryx) std::fill(mine.begin(), mine.end(), static_cast<float>(b));
      if (!memoryx) channel.release();
      channel.broadcast(ShardId(0), window, elements * 4).wait();
      if (channel.rank() == Rank(1 + b % 3)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (int e = 0; e < elements; ++e) ASSERT_EQ(window[e], static_cast<float>(b));
    }
    const Counters c = channel.counters();
    ASSERT_EQ(c.weight_bytes_received, channel.rank() == Rank(1) ? 4 * blocks * elements : 0);
  });
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST(Loopback, ReducesOneBufferManyTimesInOrder) {
  const Layout layout{1, 3};
  run_loopback(layout, {256, 4}, [&](Channel& channel) {
    std::vector<float> data(1000);
    for (std::size_t e = 0; e < data.size(); ++e) data[e] = static_cast<float>(e);
    std::vector<Ticket> tickets;
    for (int k = 0; k < 20; ++k) tickets.push_back(channel.reduce(ShardId(0), data.data(), 1000));
    for (const Ticket& t : tickets) t.wait();
    const float times = channel.rank() == Rank(0) ? 61.0F : 1.0F;  // 1 + 20 · 3
    for (std::size_t e = 0; e < data.size(); ++e) ASSERT_EQ(data[e], times * static_cast<float>(e));
  });
}

TEST(Loopback, ShardsAndDirectionsDoNotWaitForEachOther) {
  // Rank 0's broadcast is posted late by everybody: what was posted after other lanes' transfers still completes first.
  const Layout layout{2, 1};
  run_loopback(layout, {4096, 1}, [&](Channel& channel) {
    std::vector<float> a(100, channel.rank() == Rank(0) ? 1.0F : 0.0F), b(100, channel.rank() == Rank(1) ? 2.0F : 0.0F);
    if (channel.rank() == Rank(0)) {
      int go = 0;
      channel.control_broadcast(std::as_writable_bytes(std::span(&go, 1)));
      channel.broadcast(ShardId(0), a.data(), 400).wait();
    } else {
      const Ticket first = channel.rank() == Rank(2) ? channel.broadcast(ShardId(0), a.data(), 400) : Ticket();
      channel.broadcast(ShardId(1), b.data(), 400).wait();  // would never end if it waited for shard 0
      int go = 0;
      channel.control_broadcast(std::as_writable_bytes(std::span(&go, 1)));
      first.wait();
      ASSERT_EQ(b[99], 2.0F);
      ASSERT_EQ(a[99], channel.rank() == Rank(2) ? 1.0F : 0.0F);
    }
  });
}

TEST(Loopback, NothingToSendPostsNothing) {
  run_loopback({2, 2}, {64, 1}, [](Channel& channel) {
    const ShardId m = channel.layout().is_memoryx(channel.rank()) ? channel.layout().shard(channel.rank()) : ShardId(1);
    const Ticket t = channel.broadcast(m, nullptr, 0);
    ASSERT_TRUE(t.done());
    ASSERT_EQ(t.wait(), 0);
    ASSERT_EQ(channel.counters().messages, 0);
  });
}

TEST(Loopback, TransfersLeftBehindAreCarriedOutBeforeTheEnd) {
  std::vector<float> from(5000), to(5000, -1.0F);
  std::iota(from.begin(), from.end(), 0.0F);
  run_loopback({1, 1}, {64, 2}, [&](Channel& channel) {
    channel.broadcast(ShardId(0), channel.rank() == Rank(0) ? from.data() : to.data(), 20000);  // nobody waits
  });
  EXPECT_EQ(from, to);
}

// --- errors

template <class Body>
void expect_quick_end(const Layout& layout, ExitCode code, const std::string& message, Body body) {
  const Stopwatch watch;
  try {
    run_loopback(layout, {256, 2}, body);
    FAIL() << "no error came out";
  } catch (const Error& e) {
    EXPECT_EQ(static_cast<int>(e.code()), static_cast<int>(code)) << e.what();
    EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
  }
  EXPECT_LT(watch.seconds(), 2.0);
}

// Rank `victim` fails in the middle of the second pass; the others are woken wherever they wait.
void fail_in_mid_pass(const Layout& layout, Rank victim, const std::function<void(Channel&)>& failure) {
  const StreamSchedule schedule = script::random_schedule(5, layout.memoryx, {.stages = 6, .waves = 2, .prefetch = 1});
  struct FailingShard : script::Shard {
    using Shard::Shard;
    void* on_send(BlockId b, std::int64_t begin, std::int64_t end) override {
      if (++calls == 7) fail();
      return Shard::on_send(b, begin, end);
    }
    std::function<void()> fail;
    int calls = 0;
  };
  run_loopback(layout, {256, 2}, [&](Channel& channel) {
    script::run_rank(channel, schedule, 1, 1);
    if (channel.rank() != victim) return script::run_rank(channel, schedule, 5, 1);
    if (layout.is_memoryx(victim)) {
      FailingShard shard(schedule, layout.shard(victim), layout.csx, 1);
      shard.fail = [&] { failure(channel); };
      int pass = 0;
      channel.control_broadcast(std::as_writable_bytes(std::span(&pass, 1)));
      shard.begin_pass(0);
      serve_shard(channel, layout.shard(victim), shard, schedule);
    } else {
      const auto streams = make_channel_streams(channel);
      int pass = 0;
      channel.control_broadcast(std::as_writable_bytes(std::span(&pass, 1)));
      streams->begin(schedule);
      streams->wait(0);
      streams->wait(1);
      failure(channel);
    }
  });
}

TEST(LoopbackErrors, AFailingRankWakesAllOthers) {
  for (const Layout layout : layouts) {
    for (int r = 0; r < layout.ranks(); ++r) {
      const Stopwatch watch;
      try {
        fail_in_mid_pass(layout, Rank(r), [](Channel&) { throw DataError("the file is gone"); });
        ADD_FAILURE() << "no error came out";
      } catch (const DataError& e) {
        EXPECT_STREQ(e.what(), "the file is gone");
      }
      EXPECT_LT(watch.seconds(), 3.0);
    }
  }
}

TEST(LoopbackErrors, AbortEndsTheRunWithItsCode) {
  const Stopwatch watch;
  try {
    fail_in_mid_pass({2, 2}, Rank(3), [](Channel& channel) { channel.abort(4); });
    FAIL() << "no error came out";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::numerical);
  }
  EXPECT_LT(watch.seconds(), 3.0);
}

TEST(LoopbackErrors, IdleRanksLearnOfItAtTheirNextCall) {
  expect_quick_end({1, 1}, ExitCode::data, "no such file", [](Channel& channel) {
    if (channel.rank() == Rank(1)) throw DataError("no such file");
    int word = 0;
    channel.control_broadcast(std::as_writable_bytes(std::span(&word, 1)));
    for (;;) channel.control_gather(std::as_bytes(std::span(&word, 1)));
  });
}

TEST(LoopbackErrors, DifferentPlansAreABugThatEndsTheRun) {
  expect_quick_end({1, 1}, ExitCode::system, "plans differ", [](Channel& channel) {
    std::vector<float> data(10);
    channel.broadcast(ShardId(0), data.data(), channel.rank() == Rank(0) ? 40 : 36).wait();
    channel.reduce(ShardId(0), data.data(), 10).wait();
  });
}

TEST(LoopbackErrors, WrongNumbersAreSeen) {  // the script must be able to fail
  const StreamSchedule schedule = script::random_schedule(12, 1, {.stages = 5});
  struct Forger : script::Shard {
    using Shard::Shard;
    void* on_send(BlockId b, std::int64_t begin, std::int64_t end) override {
      float* const data = static_cast<float*>(Shard::on_send(b, begin, end));
      if (forge_weight && b == BlockId(2)) data[(end - begin) / 2] += 1;
      return data;
    }
    void on_gradient(BlockId b, bool last) override {
      if (!forge_weight && last && !sums[b.index].empty()) sums[b.index].back() += 1;
      Shard::on_gradient(b, last);
    }
    bool forge_weight = false;
  };
  ASSERT_GT(schedule.blocks[2].elements, 0);
  for (const bool forge_weight : {true, false}) {
    EXPECT_THROW(run_loopback({1, 2}, {256, 2},
                              [&](Channel& channel) {
                                script::Jitter jitter(1);
                                if (channel.rank() != Rank(0)) {
                                  const auto streams = make_channel_streams(channel);
                                  return script::csx_pass(*streams, schedule, channel.layout().csx_of(channel.rank()), 0, jitter);
                                }
                                Forger shard(schedule, ShardId(0), 2, 1);
                                shard.forge_weight = forge_weight;
                                shard.begin_pass(0);
                                serve_shard(channel, ShardId(0), shard, schedule);
                              }),
                 std::runtime_error);
  }
}

TEST(Loopback, WaitingLeavesTheProcessorAlone) {
  const auto cpu_s = [] {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
  };
  const double before = cpu_s();
  run_loopback({1, 3}, {4096, 2}, [](Channel& channel) {
    std::vector<float> data(1000);
    if (channel.rank() == Rank(0)) std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const double slept_s = channel.broadcast(ShardId(0), data.data(), 4000).wait();
    ASSERT_TRUE(channel.rank() == Rank(0) || slept_s > 0.4) << slept_s;
  });
  EXPECT_LT(cpu_s() - before, 0.25);  // three waiting ranks, two threads each, for half a second
}

}  // namespace
}  // namespace wsc::fabric
