// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/arena.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "wsc/base/error.hpp"

namespace wsc::plan {
namespace {

/// Free space of a region that grows at its end.
class FreeList {
 public:
  std::int64_t take(std::int64_t elements) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < elements) continue;
      const std::int64_t offset = it->first, left = it->second - elements;
      free_.erase(it);
      if (left > 0) free_[offset + elements] = left;
      return offset;
    }
    // Nothing fits: grow, using a hole at the end.
    std::int64_t offset = size_;
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second == size_) {
        offset = last->first;
        free_.erase(last);
      }
    }
    size_ = offset + elements;
    return offset;
  }

  void give(std::int64_t offset, std::int64_t elements) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + elements == next->first) {
      elements += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += elements;
        return;
      }
    }
    free_[offset] = elements;
  }

  std::int64_t size() const { return size_; }

 private:
  std::map<std::int64_t, std::int64_t> free_;  // offset → elements
  std::int64_t size_ = 0;
};

}  // namespace

std::int64_t aligned(std::int64_t elements) { return aligned(elements, Precision::fp32); }

std::int64_t aligned(std::int64_t elements, Precision format) {
  const std::int64_t line = 64 / bytes_of(format);
  return (elements + line - 1) / line * line;
}

std::int64_t pack(std::vector<Interval>& intervals) {
  std::vector<std::size_t> by_begin(intervals.size()), by_end(intervals.size());
  std::iota(by_begin.begin(), by_begin.end(), 0);
  std::iota(by_end.begin(), by_end.end(), 0);
  // At the same instant the longest-lived goes first: it ends up at the bottom, below what is freed earlier.
  std::stable_sort(by_begin.begin(), by_begin.end(), [&](std::size_t a, std::size_t b) {
    return intervals[a].begin != intervals[b].begin ? intervals[a].begin < intervals[b].begin : intervals[a].end > intervals[b].end;
  });
  std::stable_sort(by_end.begin(), by_end.end(), [&](std::size_t a, std::size_t b) { return intervals[a].end < intervals[b].end; });

  FreeList list;
  std::size_t ended = 0;
  for (const std::size_t i : by_begin) {
    for (; ended < by_end.size() && intervals[by_end[ended]].end < intervals[i].begin; ++ended) {
      const Interval& gone = intervals[by_end[ended]];
      if (gone.elements > 0) list.give(gone.offset, aligned(gone.elements));
    }
    intervals[i].offset = intervals[i].elements > 0 ? list.take(aligned(intervals[i].elements)) : 0;
  }
  return list.size();
}

std::int64_t pack_cyclic(std::vector<CyclicItem>& items, int period, int reach) {
  WSC_EXPECT(period > 0 && reach >= 0);
  std::vector<std::vector<std::size_t>> at(period);
  for (std::size_t i = 0; i < items.size(); ++i) at[items[i].at].push_back(i);
  std::vector<std::size_t> by_size(items.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) { return items[a].elements > items[b].elements; });

  std::int64_t size = 0;
  for (const std::size_t i : by_size) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // offset, end
    const int span = std::min(reach, period - 1);
    for (int d = -span; d <= span; ++d)
      for (const std::size_t other : at[((items[i].at + d) % period + period) % period])
        if (items[other].offset >= 0) taken.emplace_back(items[other].offset, items[other].offset + aligned(items[other].elements));
    std::sort(taken.begin(), taken.end());
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + aligned(items[i].elements) <= begin) break;
      offset = std::max(offset, end);
    }
    items[i].offset = offset;
    size = std::max(size, offset + aligned(items[i].elements));
  }
  return size;
}

}  // namespace wsc::plan
