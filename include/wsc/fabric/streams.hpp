// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "wsc/fabric/channel.hpp"
#include "wsc/fabric/schedule.hpp"

namespace wsc::fabric {

/// One shard of the weights, as the stream sees it. Called by one thread, never for a block of which the shard owns nothing. Its
/// memory stays where it is for the whole pass.
class ShardHandler {
 public:
  virtual ~ShardHandler() = default;
  /// The weights of elements [begin, end) of a block, all owned by this shard, in the format that travels (StreamSchedule::weights);
  /// applies the update that is pending for them.
  /// Pieces come in order and cover the shard's part of the block on every send; they are cut anywhere, not between rows.
  virtual void* on_send(BlockId block, std::int64_t begin, std::int64_t end) = 0;
  /// A copy of the shard's gradient sum of the block (see Landing; 0 = the sum itself): elements [bounds[m], bounds[m + 1]).
  virtual float* gradient(BlockId block, int copy) = 0;
  /// A contribution of all csx has been added; `last`: it was the last one of this pass. Unless it was, the next one may be arriving at
  /// the same memory: read gradient(block, 0) after the last one only.
  virtual void on_gradient(BlockId block, bool last) = 0;
};

/// Seconds that a csx was blocked on the stream, by cause.
struct ExposedWait {
  double first_weights = 0;     ///< for the blocks of the pass's first visit: nothing was computed yet that could hide them
  double weights = 0;           ///< for the blocks of a later visit
  double gradient_buffers = 0;  ///< until earlier gradients had left the place where a visit adds up its own
  double finish = 0;            ///< at the end of the pass, until the last gradients had left

  double total() const { return first_weights + weights + gradient_buffers + finish; }
  ExposedWait& operator+=(const ExposedWait& o) {
    first_weights += o.first_weights;
    weights += o.weights;
    gradient_buffers += o.gradient_buffers;
    finish += o.finish;
    return *this;
  }
};

/// The csx end of the stream, for one pass after another. Visits are taken in order: wait(0), …, wait(n − 1).
class CsxStreams {
 public:
  virtual ~CsxStreams() = default;
  /// Begins a pass. The schedule is kept by reference until finish().
  virtual void begin(const StreamSchedule& schedule) = 0;
  /// Blocks until the blocks of the visit are there; one pointer per block in `receives`, to numbers of the format that travels. Blocks of
  /// visits before it may vanish.
  virtual std::vector<const void*> wait(int visit) = 0;
  /// Gradient buffers to add into, one per block in `gradients`; zero, or holding earlier contributions that are to be added to. Once
  /// per visit, after wait(visit).
  virtual std::vector<float*> gradients(int visit) = 0;
  /// The gradients of the visit are complete: they leave.
  virtual void send(int visit) = 0;
  /// Waits until everything of the pass has left.
  virtual void finish() = 0;
  /// Since begin().
  virtual ExposedWait exposed_wait() const = 0;
};

/// One process holds both roles: hands out the shard's weights and lends the shard's gradient sum; nothing is copied. M = 1. Where
/// the schedule keeps an order, a contribution that does not land on zeros has a buffer of its own.
std::unique_ptr<CsxStreams> make_null_streams(ShardHandler& shard);

/// Over a channel, with a weight window and gradient buffers of the sizes that the schedule names (grown when a schedule needs more).
std::unique_ptr<CsxStreams> make_channel_streams(Channel& channel);

/// The memoryx end: goes through the visits of a pass, sends blocks in pieces of one message each (updating one while the one before
/// travels) and takes gradients, in the order of the visits. Returns when all has left and arrived.
void serve_shard(Channel& channel, ShardId shard, ShardHandler& handler, const StreamSchedule& schedule);

}  // namespace wsc::fabric
