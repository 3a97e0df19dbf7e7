// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/fabric/channel.hpp"

namespace wsc::fabric {

/// What the fabric of this layout carries, without any computing. Bytes are those of the model, counted once whatever N is.
struct StreamRates {
  double broadcast_bytes_per_s = 0;  ///< weights to all csx
  double reduce_bytes_per_s = 0;     ///< gradients of all csx, added
  double both_bytes_per_s = 0;       ///< each of the two while both run
  double round_trip_s = 0;           ///< a control broadcast and a gather: the cost of a pass without content
};

/// Streams `blocks` blocks of `elements` floats each, split evenly over the shards, through windows of four blocks; the best of
/// `repeats` tries. Called by all ranks alike; the result is that of rank 0, zero elsewhere.
StreamRates bench_stream(Channel& channel, std::int64_t elements, int blocks, int repeats);

}  // namespace wsc::fabric
