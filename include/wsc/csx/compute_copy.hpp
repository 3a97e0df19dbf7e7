// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wsc/base/precision.hpp"
#include "wsc/base/view.hpp"

namespace wsc::csx {

/// A block as it came.
struct WireBlock {
  const void* data = nullptr;
  std::int64_t elements = 0;
};

/// The weights of one visit in the format of the arithmetic: of a block's three spaces (master, wire, compute) the last one. Where it is
/// the wire's, weights are used where they came to, and nothing is copied.
class ComputeCopy {
 public:
  /// Room for so many numbers of this format: all blocks of a visit, each rounded up to 64 bytes.
  void reserve(Precision compute, std::int64_t elements);
  /// One pointer per block, to as many numbers in the format of the arithmetic. They stay until the next call.
  std::vector<const void*> take(const Exec& exec, Precision wire, const std::vector<WireBlock>& blocks, Precision compute);

 private:
  Buffer<std::byte> memory_;
};

}  // namespace wsc::csx
