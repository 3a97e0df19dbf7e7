// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "wsc/fabric/transport.hpp"

namespace wsc::fabric {

/// Where the ranks of a loopback fabric meet: the k-th message that each member posts on a lane belongs together. Bytes are copied and
/// added under the board's lock by the rank that receives them, so that after stop() nobody touches anybody's buffers.
class Board {
 public:
  explicit Board(const Layout& layout) : layout_(layout) {}

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
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Meeting>> meetings_;  ///< those that some member has not joined yet
  Rank stopped_by_;
};

}  // namespace wsc::fabric
