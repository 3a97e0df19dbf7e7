// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/reduction_tree.hpp"

#include <algorithm>
#include <bit>

#include "wsc/base/error.hpp"

namespace wsc::fabric {
namespace {

/// Csx [first, first + count).
struct Range {
  int first, count;
  bool holds(int csx) const { return first <= csx && csx < first + count; }
  Range left() const { return {first, static_cast<int>(left_part(count))}; }
  Range right() const { return {first + left().count, count - left().count}; }
};

/// Who holds the sum of the range. The bit of the message that decides between the halves is that of their size: they take turns.
int host(Range range, std::int64_t message) {
  while (range.count > 1) range = (message & range.left().count) != 0 ? range.right() : range.left();
  return range.first;
}

/// Copies that one slot needs: pairs of waves are pushed on a stack and merged as in a binary counter.
int stack_depth(std::int64_t waves) {
  int depth = 0;
  for (std::int64_t pair = 0; pair < (waves + 1) / 2; ++pair) depth = std::max(depth, std::popcount(static_cast<std::uint64_t>(pair)) + 1);
  return depth;
}

}  // namespace

std::int64_t left_part(std::int64_t count) {
  WSC_ASSERT(count > 1);
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
}

TreePart tree_part(int csx, int count, std::int64_t message) {
  TreePart part;
  Range range{0, count};
  if (count > 1) range = range.left().holds(csx) ? range.left() : range.right();  // the shard adds the two
  while (range.count > 1) {
    const bool in_left = range.left().holds(csx);
    const Range mine = in_left ? range.left() : range.right(), other = in_left ? range.right() : range.left();
    const int sum_at = host(range, message);
    if (sum_at == csx)
      part.children.insert(part.children.begin(), host(other, message));
    else if (host(mine, message) == csx)
      part.parent = sum_at;
    range = mine;
  }
  return part;
}

std::vector<int> tree_heads(int count, std::int64_t message) {
  const Range all{0, count};
  if (count == 1) return {0};
  return {host(all.left(), message), host(all.right(), message)};
}

Landing landing(std::int64_t wave, std::int64_t waves, int slot) {
  WSC_EXPECT(0 <= wave && wave < waves && slot >= 0);
  if (waves == 1) return {0, {}, slot == 0};
  const auto pair = static_cast<std::uint64_t>(wave / 2);
  const bool last = wave + 1 == waves, complete = wave % 2 == 1 || last;
  const int bottom = slot * stack_depth(waves), level = std::popcount(pair);
  Landing l{bottom + level, {}, wave % 2 == 0};
  const int merges = !complete ? 0 : last ? level : std::countr_one(pair);
  for (int i = 1; i <= merges; ++i) l.carries.push_back(bottom + level - i);
  if (last && slot > 0) l.carries.push_back(0);
  return l;
}

int gradient_copies(std::int64_t waves, int slots) { return waves == 1 ? 1 : slots * stack_depth(waves); }

}  // namespace wsc::fabric
