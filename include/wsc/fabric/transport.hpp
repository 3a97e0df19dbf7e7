// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "wsc/fabric/layout.hpp"

namespace wsc::fabric {

enum class Collective {
  broadcast,          ///< memoryx m → every weight window, bytes
  reduce,             ///< memoryx m: data += sum over the csx, fp32
  control_broadcast,  ///< rank 0 → all ranks, bytes
  control_gather,     ///< all ranks → rank 0, bytes
  make_window,        ///< the csx that share a weight window: room for `bytes`; see Transport::window()
};

/// One collective call as one rank takes part in it.
struct Message {
  Collective collective = Collective::broadcast;
  ShardId shard = {};                    ///< none for control and windows
  std::byte* data = nullptr;             ///< what this rank gives or takes
  std::int64_t bytes = 0;                ///< of `data`
  std::byte* gathered = nullptr;         ///< control_gather on rank 0: room for the messages of all ranks
  std::int64_t releases = 0;             ///< broadcast on a csx: release() calls of all csx of the window before it may land
  std::vector<std::byte*> carries = {};  ///< reduce on memoryx m, order-keeping: see Channel::reduce; each of `bytes`
};

/// A collective that has been posted and not been found complete yet.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Drives the transport a little; true once the collective is complete on this rank. Not called again after that.
  virtual bool done() = 0;
};

/// What carries messages: MPI between processes, or memory between threads (loopback). All calls but the constructor's come from
/// one thread, the fabric thread. The messages of one shard and direction are posted in the same order on all ranks that take part.
class Transport {
 public:
  virtual ~Transport() = default;

  /// First call. Throws SettingsError or SystemError.
  virtual void open() = 0;
  /// This rank; known once open() has returned.
  virtual Rank rank() const = 0;
  /// Starts a collective. `message.bytes` > 0 and below 2^31.
  virtual std::unique_ptr<Pending> post(const Message& message) = 0;
  /// False while the place of a broadcast is not free: another csx of the window still reads what lies there.
  virtual bool may_post(const Message&) { return true; }
  /// Of the csx of a window one receives its broadcasts, the others see them arrive.
  virtual bool receives() const { return true; }
  /// A csx has done with all that it read in its window so far. The one call that comes from another thread.
  virtual void release() noexcept {}
  /// The weight window of a csx, once a make_window is complete; aligned to 64 bytes.
  virtual std::byte* window() const { return nullptr; }
  /// Called now and then while nothing is pending: a library may still hold bytes that it has reported as sent.
  virtual void progress() {}
  /// Ranks are processes; else threads of one.
  virtual bool between_processes() const = 0;
  /// From now on this rank moves nothing; within one process nobody touches its buffers any more. Only abort() may follow.
  virtual void halt() noexcept = 0;
  /// Last call of an orderly end: nothing is pending.
  virtual void close() = 0;
  /// Ends the run on all ranks. Between processes it does not return.
  virtual void abort(int exit_code) noexcept = 0;
};

}  // namespace wsc::fabric
