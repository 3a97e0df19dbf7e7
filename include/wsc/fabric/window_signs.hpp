// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "wsc/fabric/transport.hpp"

namespace wsc::fabric {

/// What the csx that share one weight window tell each other, through counters in memory that all of them see and that only grow. Member
/// 0 leads: it takes part in the broadcasts for all, and shows the others how many have arrived. Every member shows how often it has
/// released what it read; a broadcast lands only once all of them have released as often as the leader had when it was asked for.
/// Nobody waits in here: fabric threads look now and then.
class WindowSigns {
 public:
  /// Bytes of memory to share, aligned to 64.
  static std::size_t bytes(int members, int shards);
  /// One member makes the counters, before the others look at them.
  static void make(std::byte* memory, int members, int shards);
  WindowSigns(std::byte* memory, int members, int shards, int member);

  bool leads() const { return member_ == 0; }
  /// By the thread that reads the window; all else by the fabric thread.
  void release() noexcept;
  bool all_released(std::int64_t times) const;

  /// The leader's next broadcast of this shard: seen by the others once it and those before it are complete.
  std::unique_ptr<Pending> lead(ShardId shard, std::unique_ptr<Pending> broadcast);
  /// The next broadcast of this shard, as another member sees it.
  std::unique_ptr<Pending> follow(ShardId shard);

 private:
  struct Sign {
    alignas(64) std::atomic<std::int64_t> count{0};  // a cache line of its own
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // else it would not work between processes
  class Leading;
  class Following;
  void complete(ShardId shard, std::int64_t number);

  Sign* released_;  // per member
  Sign* arrived_;   // per shard: broadcasts
  int members_, member_;
  std::vector<std::int64_t> posted_;         // per shard: broadcasts
  std::vector<std::deque<bool>> completed_;  // per shard, leader: from the first one that has not arrived
};

}  // namespace wsc::fabric
