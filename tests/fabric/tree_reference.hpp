// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fabric/stream_script.hpp"

/// The tree of the order-keeping reduction, serially, by its definition.
namespace wsc::fabric::script {

/// Numbers of many sizes and both signs: almost every other order of their sum gives other bits.
inline float rounding_number(std::int64_t k, std::int64_t element) {
  const auto h = static_cast<std::uint32_t>(k * 2654435761LL + element * 40503LL + 12345);
  const float x = 1.0F + static_cast<float>(h % 9973) / 9973.0F;
  return (h & 64U) != 0 ? x * 1e3F : -x;
}

/// T(n) = T(p) + T(n − p), p the largest power of two below n.
inline float tree_sum(const float* x, int n) {
  if (n == 1) return x[0];
  int p = 1;
  while (2 * p < n) p *= 2;
  return tree_sum(x, p) + tree_sum(x + p, n - p);
}

/// Three reductions of `count` floats to every shard, in which contributions of the csx are rounding numbers; shards check the bits, csx
/// that their buffers are left alone.
inline void reduce_in_order(Channel& channel, std::int64_t count) {
  const Layout& layout = channel.layout();
  const Rank rank = channel.rank();
  for (int m = 0; m < layout.memoryx; ++m) {
    if (layout.is_memoryx(rank) && layout.shard(rank) != ShardId(m)) continue;
    std::vector<std::vector<float>> data(3, std::vector<float>(static_cast<std::size_t>(count), 0.25F));
    std::vector<Ticket> tickets;
    for (int k = 0; k < 3; ++k) {
      for (std::int64_t e = 0; e < count && !layout.is_memoryx(rank); ++e)
        data[k][e] = rounding_number(layout.csx_of(rank).index + 100 * k, e);
      tickets.push_back(channel.reduce(ShardId(m), data[k].data(), count));
    }
    for (const Ticket& t : tickets) t.wait();
    for (int k = 0; k < 3; ++k)
      for (std::int64_t e = 0; e < count; ++e) {
        std::vector<float> parts;
        for (int i = 0; i < layout.csx; ++i) parts.push_back(rounding_number(i + 100 * k, e));
        const float expected = layout.is_memoryx(rank) ? 0.25F + tree_sum(parts.data(), layout.csx) : parts[layout.csx_of(rank).index];
        if (data[k][e] == expected) continue;
        require(false, "reduction " + std::to_string(k) + " of " + std::to_string(count) + " floats over " + std::to_string(layout.csx) +
                           " csx, element " + std::to_string(e) + ": " + std::to_string(data[k][e]) + " instead of " +
                           std::to_string(expected));
      }
  }
}

}  // namespace wsc::fabric::script
