// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/schedule.hpp"

#include <algorithm>

namespace wsc::fabric {
namespace {

struct Range {
  std::int64_t begin, end;  // elements
  std::size_t visit;
};

bool overlap(const Range& a, const Range& b) { return a.begin < b.end && b.begin < a.end; }

std::string block_flaw(const BlockSplit& block, int shards) {
  if (block.elements < 0) return "has a negative size";
  if (block.bounds.size() != static_cast<std::size_t>(shards) + 1) return "is not split over " + std::to_string(shards) + " shards";
  if (block.bounds.front() != 0 || block.bounds.back() != block.elements) return "is not covered by its shards";
  if (!std::is_sorted(block.bounds.begin(), block.bounds.end())) return "has bounds out of order";
  return "";
}

/// Where the blocks of one visit lie; a flaw is a block that does not exist or does not fit.
std::string place(const StreamSchedule& schedule, const std::vector<BlockId>& ids, const std::vector<std::int64_t>& offsets,
                  std::int64_t room, std::size_t visit, std::vector<Range>& ranges) {
  if (ids.size() != offsets.size())
    return "names " + std::to_string(ids.size()) + " blocks and " + std::to_string(offsets.size()) + " offsets";
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (ids[k].index < 0 || static_cast<std::size_t>(ids[k].index) >= schedule.blocks.size()) return "names a block that does not exist";
    const std::int64_t end = offsets[k] + schedule.blocks[ids[k].index].elements;
    if (offsets[k] < 0 || end > room) return "puts block " + std::to_string(ids[k].index) + " outside of its buffer";
    const Range range{offsets[k], end, visit};
    for (const Range& other : ranges) {
      if (overlap(range, other)) return "overlaps visit " + std::to_string(other.visit) + " in memory";
    }
    ranges.push_back(range);
  }
  return "";
}

}  // namespace

std::string flaw(const StreamSchedule& schedule, int shards) {
  if (schedule.prefetch < 0) return "prefetch is negative";
  for (std::size_t b = 0; b < schedule.blocks.size(); ++b) {
    if (const std::string f = block_flaw(schedule.blocks[b], shards); !f.empty()) return "block " + std::to_string(b) + " " + f;
  }
  std::vector<Range> window;
  for (std::size_t i = 0; i < schedule.visits.size(); ++i) {
    const Visit& v = schedule.visits[i];
    const std::size_t prefetch = static_cast<std::size_t>(schedule.prefetch);
    std::erase_if(window, [&](const Range& r) { return r.visit + prefetch < i; });
    std::vector<Range> gradients;
    std::string f = place(schedule, v.receives, v.window_offsets, schedule.window_elements, i, window);
    if (f.empty()) f = place(schedule, v.gradients, v.gradient_offsets, schedule.gradient_elements, i, gradients);
    if (f.empty() && v.gradient_is_last.size() != v.gradients.size()) f = "does not say which gradients are the last ones";
    if (f.empty() && !v.landings.empty() && v.landings.size() != v.gradients.size()) f = "does not say where all gradients are added";
    if (!f.empty()) return "visit " + std::to_string(i) + " " + f;
  }
  return "";
}

}  // namespace wsc::fabric
