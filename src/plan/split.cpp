// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/split.hpp"

#include <algorithm>

namespace wsc::plan {
namespace {

/// The row boundary of the block that is nearest to element `target`; matrices begin at aligned offsets, so a boundary may also lie at
/// the beginning of the next matrix.
std::int64_t nearest_boundary(const Graph& graph, const Block& block, std::int64_t target) {
  std::int64_t best = 0;
  const auto consider = [&](std::int64_t boundary) {
    if (std::abs(boundary - target) < std::abs(best - target)) best = boundary;
  };
  for (const WeightId id : block.weights) {
    const Weight& w = graph[id];
    const std::int64_t row = std::clamp<std::int64_t>((target - w.offset) / w.columns, 0, w.rows);
    for (const std::int64_t r : {row, std::min(row + 1, w.rows)}) consider(r < w.rows ? w.offset + r * w.columns : w.offset);
  }
  consider(block.elements);
  return best;
}

}  // namespace

std::vector<fabric::BlockSplit> split_blocks(const Graph& graph, int shards) {
  std::vector<fabric::BlockSplit> splits;
  for (const Block& block : graph.blocks) {
    fabric::BlockSplit split{block.elements, {0}};
    for (int m = 1; m < shards; ++m)
      split.bounds.push_back(std::max(split.bounds.back(), nearest_boundary(graph, block, block.elements * m / shards)));
    split.bounds.push_back(block.elements);
    splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace wsc::plan
