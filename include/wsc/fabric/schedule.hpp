// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/base/precision.hpp"
#include "wsc/fabric/reduction_tree.hpp"

namespace wsc::fabric {

/// How a block lies in memory and on the shards. Offsets and bounds count elements of the block's buffer.
struct BlockSplit {
  std::int64_t elements = 0;         ///< of the whole block, padding included
  std::vector<std::int64_t> bounds;  ///< M + 1: shard m owns [bounds[m], bounds[m + 1]), cut between rows
};

/// One visit of a csx to a stage: forward, turn or backward, in one wave. The stream of a pass is a list of visits.
struct Visit {
  std::vector<BlockId> receives = {};               ///< blocks that must have arrived when it starts
  std::vector<std::int64_t> window_offsets = {};    ///< where each of them lies in the csx's weight window, elements
  std::vector<BlockId> gradients = {};              ///< blocks whose gradient leaves after it
  std::vector<std::int64_t> gradient_offsets = {};  ///< where each of them lies in the csx's gradient buffers, elements
  std::vector<bool> gradient_is_last = {};          ///< no later visit of the pass contributes to this block
  std::vector<Landing> landings = {};               ///< order-keeping: where each of them is added; empty = to the sum as it is
};

/// Everything the fabric needs to know of a pass before anything is posted: the same on all ranks.
struct StreamSchedule {
  std::vector<BlockSplit> blocks;
  std::vector<Visit> visits;
  int prefetch = 1;                     ///< visits whose blocks may be on their way ahead of the running one
  std::int64_t window_elements = 0;     ///< blocks of visits i … i + prefetch never overlap in it; in the format of the weights
  std::int64_t gradient_elements = 0;   ///< a visit's gradients never overlap in it; where they overlap those of an earlier visit, that
                                        ///< visit's must have left first (so two buffers in turn let one fill while one leaves)
  Precision weights = Precision::fp32;  ///< on the wire and in the window
};

/// What is wrong with a schedule for M = `shards` (bounds, sizes, overlaps in the window), for people; empty when nothing is.
std::string flaw(const StreamSchedule& schedule, int shards);

}  // namespace wsc::fabric
