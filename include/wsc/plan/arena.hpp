// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "wsc/base/precision.hpp"

namespace wsc::plan {

/// An array that must exist during [begin, end] (both included).
struct Interval {
  int begin = 0, end = 0;
  std::int64_t elements = 0;  ///< of 4 bytes
  std::int64_t offset = -1;   ///< result
};

/// Gives every interval an offset such that intervals that overlap in time never overlap in memory; offsets are multiples of 16
/// elements (64 bytes). Goes through time with a first-fit free list. Returns the size of the region.
std::int64_t pack(std::vector<Interval>& intervals);

/// The same where time is a circle of `period` instants and array i exists during instants [at − reach, at] of it. Used for a
/// stream that repeats wave after wave.
struct CyclicItem {
  int at = 0;
  std::int64_t elements = 0;
  std::int64_t offset = -1;  ///< result
};
std::int64_t pack_cyclic(std::vector<CyclicItem>& items, int period, int reach);

/// Rounded up to a multiple of 16 elements, 64 bytes of fp32.
std::int64_t aligned(std::int64_t elements);
/// Rounded up to 64 bytes of the format.
std::int64_t aligned(std::int64_t elements, Precision format);

}  // namespace wsc::plan
