// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wsc/base/error.hpp"
#include "wsc/fabric/layout.hpp"

namespace wsc::fabric {

/// What waiters see when the run ends for a reason that another thread or rank reports: unwind, print nothing.
struct RunAborted : SystemError {
  using SystemError::SystemError;
};

/// All ranks have agreed to stop with this code, and rank 0 has printed why: nothing is in flight, every rank ends in good order.
struct AgreedStop : Error {
  explicit AgreedStop(ExitCode code) : Error(code, "stopped by agreement") {}
};

/// What a rank moved, counted where the messages are posted.
struct Counters {
  std::int64_t weight_bytes_sent = 0;        ///< memoryx: payload handed to broadcasts, once per message whatever N is
  std::int64_t weight_bytes_received = 0;    ///< csx that receives for its window; 0 on those that share it
  std::int64_t gradient_bytes_sent = 0;      ///< csx
  std::int64_t gradient_bytes_received = 0;  ///< memoryx: N contributions per message
  std::int64_t messages = 0;                 ///< chunks of weights and gradients, not control
  double moving_s = 0;                       ///< seconds with at least one of them in flight
};

/// Completion of one posted transfer (all its chunks). Copyable; empty tickets are complete.
class Ticket {
 public:
  struct State;
  Ticket() = default;
  explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}
  bool done() const;
  /// Sleeps until the transfer is complete. Throws SystemError when it cannot be completed (a call of the library failed), RunAborted
  /// when the run has been aborted. Returns the seconds it slept.
  double wait() const;

 private:
  std::shared_ptr<State> state_;
};

/// The collectives of one rank. Transfers of one shard and direction are carried out in the order in which they were posted, which
/// must be the same on all ranks that take part (memoryx m and every csx); shards and directions never wait for each other. Calls
/// post and return: the fabric thread moves the bytes, in chunks of at most `cluster.chunk_bytes`, with at most
/// `cluster.messages_in_flight` of them in flight. Buffers stay untouched until the ticket is done.
class Channel {
 public:
  virtual ~Channel() = default;

  virtual const Layout& layout() const = 0;
  virtual Rank rank() const = 0;
  /// Bytes of one message at most, the same on all ranks: a transfer is cut into messages from its beginning. A multiple of 64.
  virtual std::int64_t chunk_bytes() const = 0;

  /// The weight window of this csx, one piece of memory for all csx of a node (cluster.csx_per_window), with room for so many bytes. They
  /// all call it alike, with nothing on its way to it. Where it grows, its contents are lost. Aligned to 64 bytes.
  virtual std::byte* window(std::int64_t bytes) = 0;
  /// This csx has done with all that has arrived so far. Called alike by all csx of the window.
  virtual void release() = 0;
  /// Memoryx m sends `bytes` to every csx, which all post it alike. `data` is read on the memoryx rank and lies in the window on csx
  /// ranks, where it lands once every csx of the window has released as often as this one has by now.
  virtual Ticket broadcast(ShardId m, void* data, std::int64_t bytes) = 0;
  /// Every csx contributes `count` floats; on memoryx m: data += sum of the contributions, in an order that depends on the layout only.
  /// Order-keeping, the sum of the contributions is made in the order of reduction_tree.hpp, and on memoryx m it may move on when it is
  /// complete: each of `carries`, `count` floats, += the one before it, which becomes zero; the first one += data.
  virtual Ticket reduce(ShardId m, float* data, std::int64_t count, const std::vector<float*>& carries = {}) = 0;

  /// Control, over all ranks, blocking (sleeping) the caller. Root is rank 0.
  virtual void control_broadcast(std::span<std::byte> message) = 0;
  /// Rank 0 gets the messages (equal sizes) of all ranks in rank order, the others an empty vector.
  virtual std::vector<std::byte> control_gather(std::span<const std::byte> message) = 0;

  virtual Counters counters() const = 0;

  /// Stops this rank's part for good. Where ranks are threads, nobody touches the buffers of unfinished transfers any more. Between
  /// processes peers may go on reading them (MPI takes large messages straight out of the sender's memory): they stay until the process
  /// ends, see guarded(). The run cannot go on; it ends by itself after a few seconds unless fail() or abort() comes.
  virtual void halt() noexcept = 0;
  /// Ends the run because of `error`. Between processes: prints it and ends all ranks, does not return. Where ranks are threads: halts,
  /// and whoever runs the threads reports what this one throws.
  virtual void fail(const Error& error) = 0;
  /// Ends the whole run at once: every rank stops with this exit code. Used after the failing rank has printed its message. Does not
  /// return; where ranks are threads (loopback) it throws.
  virtual void abort(int exit_code) = 0;
};

}  // namespace wsc::fabric
