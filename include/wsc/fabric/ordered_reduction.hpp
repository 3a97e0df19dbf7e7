// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "wsc/fabric/transport.hpp"

namespace wsc::fabric {

/// Messages between two of the ranks that take part in a shard's reductions: a csx by its number, the shard as −1. Both ends name the
/// number of the reduction, which tells apart what is under way at once.
class Links {
 public:
  virtual ~Links() = default;
  virtual std::unique_ptr<Pending> send(int to, const float* data, std::int64_t count, std::int64_t number) = 0;
  virtual std::unique_ptr<Pending> receive(int from, float* data, std::int64_t count, std::int64_t number) = 0;
};

/// Receive buffers that go round: as many as there were reductions in flight at once.
using ScratchPool = std::vector<std::vector<float>>;

/// One rank's part in reduction `number` (0, 1, … per shard) over the csx, in the order of reduction_tree.hpp: contributions travel from
/// csx to csx, each adding what it receives to its own, and the shard adds the sum of the two halves to its memory, then carries it on.
/// Buffers of csx stay as they are. At most two messages of scratch.
std::unique_ptr<Pending> ordered_reduction(Links& links, const Layout& layout, Rank rank, const Message& message, std::int64_t number,
                                           ScratchPool& pool);

}  // namespace wsc::fabric
