// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
// The MPI engine on M memoryx and N csx ranks: `mpirun -np <M + N> test_mpi_channel M N [scenario]`. Each rank judges for itself and says
// so by its exit code (mpirun returns a code other than 0 when any rank does). The scenarios other than "stream" end the run on purpose;
// expect_exit.sh checks with which code and how soon.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "tests/fabric/tree_reference.hpp"
#include <Kokkos_Core.hpp>
#include <sys/resource.h>

#include "wsc/base/error.hpp"
#include "wsc/base/log.hpp"

namespace wsc::fabric {
namespace {

using script::require;

double cpu_s() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// The shard's sum in place, many messages in flight, sizes around the limits at which the library changes its algorithm.
void reduce_exactly(Channel& channel) {
  const Layout& layout = channel.layout();
  for (const std::int64_t n : {1, 100, 16383, 16384, 16385, 70000, 1 << 20, (1 << 21) + 7}) {
    for (int m = 0; m < layout.memoryx; ++m) {
      if (layout.is_memoryx(channel.rank()) && layout.shard(channel.rank()) != ShardId(m)) continue;
      std::vector<float> data(static_cast<std::size_t>(n));
      for (std::int64_t e = 0; e < n; ++e) data[e] = static_cast<float>((e * 7 + channel.rank().index * 1009) % 8191);
      std::vector<Ticket> tickets;
      for (int k = 0; k < 3; ++k) tickets.push_back(channel.reduce(ShardId(m), data.data(), n));  // thrice into the same sum
      for (const Ticket& t : tickets) t.wait();
      for (std::int64_t e = 0; e < n; ++e) {
        float expected = static_cast<float>((e * 7 + channel.rank().index * 1009) % 8191);
        for (int i = 0; layout.is_memoryx(channel.rank()) && i < layout.csx; ++i) {
          expected += 3 * static_cast<float>((e * 7 + (layout.memoryx + i) * 1009) % 8191);
        }
        if (data[e] == expected) continue;
        require(false, "reduction of " + std::to_string(n) + " floats, element " + std::to_string(e) + ": " + std::to_string(data[e]) +
                           " instead of " + std::to_string(expected));
      }
    }
  }
}

// Sums of numbers that round: two runs of one layout must agree bit for bit.
void reduce_reproducibly(Channel& channel) {
  const Layout& layout = channel.layout();
  const bool memoryx = layout.is_memoryx(channel.rank());
  const ShardId m = memoryx ? layout.shard(channel.rank()) : ShardId(0);
  std::vector<float> first;
  for (int run = 0; run < 5; ++run) {
    std::vector<float> data(300000);
    for (std::size_t e = 0; e < data.size(); ++e) data[e] = 1.0F / static_cast<float>(e + 3 + channel.rank().index * 17);
    if (memoryx && m != ShardId(0)) continue;
    if (!memoryx)
      std::this_thread::sleep_for(std::chrono::milliseconds((run * 7 + channel.rank().index * 5) % 12));  // other orders of arrival
    channel.reduce(m, data.data(), static_cast<std::int64_t>(data.size())).wait();
    if (memoryx && run > 0) require(data == first, "two equal reductions differ");
    first = data;
  }
}

void wait_quietly(Channel& channel) {
  const double before = cpu_s();
  int word = 0;
  if (channel.rank() == Rank(0)) std::this_thread::sleep_for(std::chrono::milliseconds(600));
  channel.control_broadcast(std::as_writable_bytes(std::span(&word, 1)));
  require(cpu_s() - before < 0.2, "waiting for 0.6 s cost " + std::to_string(cpu_s() - before) + " s of processor time");
}

void stream(Channel& channel, int csx_per_window) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const script::Shape shape{.stages = 2 + static_cast<int>(seed % 5),
                              .waves = 1 + static_cast<int>(seed % 3),
                              .prefetch = static_cast<int>(seed % 4),
                              .one_gradient_buffer = seed % 2 == 1};
    script::run_rank(channel, script::random_schedule(seed * 31 + 7, channel.layout().memoryx, shape), 3, seed, csx_per_window);
  }
  reduce_exactly(channel);
  reduce_reproducibly(channel);
  wait_quietly(channel);
}

struct FailingShard : script::Shard {
  using Shard::Shard;
  // The run must have ended before the memory goes: a csx still reads it, and would call the weights wrong.
  ~FailingShard() {
    for (auto& block : weights) std::fill(block.begin(), block.end(), std::byte{0xFF});
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  void* on_send(BlockId b, std::int64_t begin, std::int64_t end) override {
    if (++calls == 20) throw DataError("planted: the store is gone");
    return Shard::on_send(b, begin, end);
  }
  int calls = 0;
};

// Rank 0's shard fails in mid-pass.
void fail_in_mid_pass(Channel& channel) {
  const StreamSchedule schedule = script::random_schedule(5, channel.layout().memoryx, {.stages = 6, .waves = 3, .prefetch = 1});
  if (channel.rank() != Rank(0)) return script::run_rank(channel, schedule, 5, 1);
  FailingShard shard(schedule, ShardId(0), channel.layout().csx, 1);
  guarded(&channel, [&] {
    int pass = 0;
    channel.control_broadcast(std::as_writable_bytes(std::span(&pass, 1)));
    shard.begin_pass(0);
    serve_shard(channel, ShardId(0), shard, schedule);
  });
}

[[noreturn]] void sleep_on() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// The order-keeping engine: the bits of the serial tree, and whole passes with waves.
void stream_in_order(Channel& channel) {
  for (const std::int64_t n : {1, 100, 16384, 16385, 300001}) script::reduce_in_order(channel, n);
  for (unsigned seed = 0; seed < 4; ++seed) {
    const script::Shape shape{.stages = 8 + static_cast<int>(seed), .waves = 1 << seed, .ordered = true};
    script::run_rank(channel, script::random_schedule(seed + 40, channel.layout().memoryx, shape), 3, seed, 0);
  }
}

/// Of the scenario "windows": as if four csx ran on two nodes.
int csx_per_window_of(const std::string& scenario) { return scenario == "windows" ? 2 : 0; }

void play(Channel& channel, const std::string& scenario) {
  const bool last = channel.rank().index == channel.layout().ranks() - 1;
  if (scenario == "stream") return stream(channel, 0);
  if (scenario == "windows") return stream(channel, csx_per_window_of(scenario));
  if (scenario == "ordered") return stream_in_order(channel);
  if (scenario == "fail") return fail_in_mid_pass(channel);
  if (last) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (last && scenario == "abort") throw NumericalError("planted: not a number");
  if (last && scenario == "kill") std::raise(SIGKILL);
  if (last && scenario == "throw") throw std::runtime_error("planted: an exception that nobody catches before the channel goes");
  if (channel.rank() == Rank(0)) channel.control_gather(std::as_bytes(std::span("waits for the others")));
  sleep_on();  // computes, its fabric idle
}

int judge(const Layout& layout, const std::string& scenario) {
  const auto channel = make_mpi_channel(
      layout,
      {.chunk_bytes = 1 << 16, .messages_in_flight = 3, .csx_per_window = csx_per_window_of(scenario), .ordered = scenario == "ordered"});
  log::set_rank(channel->rank().index, layout.ranks());
  if (scenario == "throw") {
    play(*channel, scenario);
    return 0;
  }
  try {
    play(*channel, scenario);
    return 0;
  } catch (const RunAborted&) {
    sleep_on();
  } catch (const Error& e) {
    log::error(e.what());
    channel->abort(static_cast<int>(e.code()));
  } catch (const std::exception& e) {
    log::error(e.what());
    channel->abort(1);
  }
  return 1;
}

}  // namespace
}  // namespace wsc::fabric

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos;
  if (argc < 3) return 2;
  const std::string scenario = argc > 3 ? argv[3] : "stream";
  try {
    wsc::fabric::Layout layout{std::stoi(argv[1]), std::stoi(argv[2])};
    if (scenario == "layout") ++layout.csx;  // more than the launcher has started
    return wsc::fabric::judge(layout, scenario);
  } catch (const wsc::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
