// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "wsc/fabric/window_signs.hpp"

namespace wsc::fabric {

/// Where the ranks of a loopback fabric meet: the k-th message that each member posts on a lane belongs together. Bytes are copied and
/// added under the board's lock by the rank that receives them, so that after stop() nobody touches anybody's buffers.
class Board {
 public:
  Board(const Layout& layout, int csx_per_window);

  /// A collective in which `posted` of the members have arrived.
  struct Meeting {
    Collective collective = Collective::broadcast;
    std::int64_t bytes = 0;
    std::vector<std::byte*> data;   ///< per member, in rank order; the root is member 0
    std::vector<bool> served;       ///< per member: has given or taken its data
    std::byte* gathered = nullptr;  ///< on rank 0
    int arrived = 0;
  };

  /// Throws SystemError where the members disagree on what comes next (a bug: two ranks follow different plans), RunAborted after stop().
  std::shared_ptr<Meeting> join(Rank rank, const Message& message, std::int64_t position);
  /// True once the collective is complete for this rank. Throws RunAborted after stop().
  bool serve(Rank rank, Meeting& meeting);
  /// The weight window that a csx belongs to, with its signs.
  struct Window {
    int members = 0;
    std::vector<std::byte> signs, data;  ///< with room to align them
    int asked = 0;                       ///< members that have asked for room and not all others yet
    int rounds = 0;                      ///< times that all of them had
  };
  Window& window(CsxId csx) { return windows_[static_cast<std::size_t>(csx.index / csx_per_window_)]; }
  int member_of_window(CsxId csx) const { return csx.index % csx_per_window_; }
  static std::byte* aligned(std::vector<std::byte>& memory);
  /// Asks for room, which the last member to ask makes; the number of the round that brings it.
  int ask(Window& window, std::int64_t bytes);
  /// True once all members have asked in that round. Throws RunAborted after stop().
  bool given(const Window& window, int round);
  /// Throws RunAborted after stop().
  void expect_running();
  /// A message from one rank to another; what tells it apart: shard, number, from, to. Whoever comes second copies.
  struct Letter {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t bytes = 0;
    bool delivered = false;
  };
  using Address = std::tuple<int, std::int64_t, int, int>;
  /// One end of a letter: `from` or `to` is given. Throws as join() does.
  std::shared_ptr<Letter> post(const Address& address, const std::byte* from, std::byte* to, std::int64_t bytes);
  /// True once the letter has arrived. Throws RunAborted after stop().
  bool deliver(Letter& letter);
  /// No byte moves any more. Idempotent; the first caller is named in what the others see.
  void stop(Rank rank);

 private:
  struct Key {
    bool control, reduce;
    int shard;
    std::int64_t position;
    auto operator<=>(const Key&) const = default;
  };
  std::size_t members(const Message& message) const;
  std::size_t member(Rank rank, Collective collective) const;
  void throw_if_stopped() const;

  const Layout layout_;
  const int csx_per_window_;
  std::vector<Window> windows_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Meeting>> meetings_;    ///< those that some member has not joined yet
  std::map<Address, std::shared_ptr<Letter>> letters_;  ///< those of which one end is missing
  Rank stopped_by_;
};

}  // namespace wsc::fabric
