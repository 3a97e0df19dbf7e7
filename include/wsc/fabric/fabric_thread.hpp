// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "wsc/fabric/ticket_state.hpp"
#include "wsc/fabric/transport.hpp"
#include "wsc/fabric/world.hpp"

namespace wsc::fabric {

/// The one thread of a rank that talks to its transport. Roles push transfers and sleep on tickets; the thread cuts each transfer into
/// chunks, keeps a bounded number of them posted per lane (one lane per shard and direction, one for control), tests them, and sleeps
/// when nothing moves.
class FabricThread {
 public:
  /// Returns once the transport is open. Throws what opening it threw.
  FabricThread(std::unique_ptr<Transport> transport, const Layout& layout, const ChannelSettings& settings);
  /// Waits until all that was pushed has been carried out and closes the transport. After a failure, or when an exception is passing
  /// through, it aborts the run instead: the peers would wait for messages that never come.
  ~FabricThread();
  FabricThread(const FabricThread&) = delete;
  FabricThread& operator=(const FabricThread&) = delete;

  /// The transfer is carried out after those pushed before it for the same shard and direction.
  Ticket push(const Message& transfer);
  /// See Channel::window() and Channel::release(). By the thread that pushes.
  std::byte* window(std::int64_t bytes);
  void release();
  /// See Channel::halt(). The tickets of unfinished transfers throw.
  void halt() noexcept;
  /// Ends the run on all ranks, also from the fabric thread itself. Returns in the loopback transport only.
  void abort(int exit_code);

  Rank rank() const { return rank_; }
  bool between_processes() const { return transport_->between_processes(); }
  /// The same on all ranks, and a multiple of 64, so that chunks keep that alignment.
  std::int64_t chunk_bytes() const { return chunk_bytes_; }
  Counters counters() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Transfer {
    Message rest;  ///< what has not been posted yet
    std::shared_ptr<Ticket::State> ticket;
  };
  struct Posted {
    std::unique_ptr<Pending> pending;
    Message message;
    std::shared_ptr<Ticket::State> ticket;
  };
  struct Lane {
    std::deque<Transfer> queue;
    std::vector<Posted> posted;
    std::string name;           ///< in the timeline
    std::int64_t bytes_so_far;  ///< of transfers begun before
  };
  enum class Order { go_on, finish, stop };

  void run();                    ///< the thread
  bool open();                   ///< false: failed, and the constructor throws
  Order take_orders();           ///< sleeps when there is nothing to do
  bool move();                   ///< posts and tests; true when anything moved
  bool post_next(Lane& lane);    ///< posts chunks of the lane while it may
  bool test_posted(Lane& lane);  ///< completes what has arrived
  bool may_post(const Lane& lane, const Message& chunk) const;
  Message next_chunk(const Message& rest) const;
  static void begin_moving(Lane& lane, const Transfer& transfer);
  void count(const Message& chunk);
  void count_moving_time();
  void park(const Failure& failure);  ///< after a failure, a halt or an abort: fails all tickets and waits for the end
  void fail_all(const Failure& failure);
  bool idle() const;
  bool is_root(const Message& message) const { return layout_.is_memoryx(rank_) && message.shard.valid(); }
  std::size_t lane_of(const Message& message) const;

  const std::unique_ptr<Transport> transport_;
  const Layout layout_;
  const std::int64_t chunk_bytes_;
  const std::size_t messages_in_flight_;
  const int exceptions_at_start_;
  Rank rank_;
  std::int64_t releases_ = 0;  // owned by the thread that pushes

  // Owned by the thread.
  std::vector<Lane> lanes_;
  std::chrono::microseconds pause_{0};
  bool moved_ = true;
  std::optional<Clock::time_point> moving_since_;

  // Shared with the role's threads.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Transfer> incoming_;
  Counters counters_;
  bool opened_ = false, finish_ = false, halt_ = false, parked_ = false, ended_ = false;
  std::optional<int> abort_code_;
  std::optional<Failure> failure_;
  std::exception_ptr open_error_;

  std::thread thread_;
};

}  // namespace wsc::fabric
