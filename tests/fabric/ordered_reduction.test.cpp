// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "tests/fabric/tree_reference.hpp"
#include <gtest/gtest.h>

#include "wsc/fabric/reduction_tree.hpp"
#include "wsc/fabric/world.hpp"

namespace wsc::fabric {
namespace {

using script::rounding_number;
using script::tree_sum;

// Every csx sends its sum once, in every message the same tree, and the work goes round.
TEST(ReductionTree, EveryCsxSendsOnceAndAddsAsMuchAsTheOthers) {
  for (int n = 1; n <= 40; ++n) {
    std::vector<int> received(static_cast<std::size_t>(n));
    for (std::int64_t message = 0; message < 64; ++message) {
      std::set<int> senders;
      for (int i = 0; i < n; ++i) {
        const TreePart part = tree_part(i, n, message);
        for (const int child : part.children) EXPECT_EQ(tree_part(child, n, message).parent, i);
        if (part.parent >= 0) senders.insert(i);
        received[static_cast<std::size_t>(i)] += static_cast<int>(part.children.size());
      }
      const std::vector<int> heads = tree_heads(n, message);
      EXPECT_EQ(heads.size(), n == 1 ? 1U : 2U);
      for (const int head : heads) EXPECT_EQ(tree_part(head, n, message).parent, -1);
      EXPECT_EQ(senders.size() + heads.size(), static_cast<std::size_t>(n));
    }
    if ((n & (n - 1)) != 0) continue;
    EXPECT_EQ(*std::ranges::max_element(received), *std::ranges::min_element(received)) << n;
  }
}

// Any deal of the leaves over csx and waves in which parts are whole subtrees gives the bits of the serial tree.
TEST(ReductionTree, PartsThatAreWholeSubtreesGiveTheBitsOfTheWholeTree) {
  for (const int leaves : {1, 2, 3, 6, 8, 12, 16, 24, 32}) {
    std::vector<float> numbers;
    for (int k = 0; k < leaves; ++k) numbers.push_back(rounding_number(k, 0));
    const float whole = tree_sum(numbers.data(), leaves);
    for (int part = 1; part <= leaves; part *= 2) {
      if (leaves % part != 0) continue;
      std::vector<float> sums;
      for (int k = 0; k < leaves; k += part) sums.push_back(tree_sum(numbers.data() + k, part));
      EXPECT_EQ(tree_sum(sums.data(), leaves / part), whole) << leaves << " leaves in parts of " << part;
      // The same parts as waves, through the copies of a shard.
      const auto waves = static_cast<std::int64_t>(sums.size());
      std::vector<float> copies(static_cast<std::size_t>(gradient_copies(waves, 1)));
      for (std::int64_t w = 0; w < waves; ++w) {
        const Landing l = landing(w, waves, 0);
        ASSERT_LT(l.copy, static_cast<int>(copies.size()));
        EXPECT_EQ(l.fresh, copies[l.copy] == 0);
        copies[l.copy] += sums[w];
        int from = l.copy;
        for (const int to : l.carries) {
          copies[to] += copies[from];
          copies[from] = 0;
          from = to;
        }
      }
      EXPECT_EQ(copies[0], whole) << waves << " waves";
      for (std::size_t c = 1; c < copies.size(); ++c) EXPECT_EQ(copies[c], 0);
    }
  }
}

TEST(ReductionTree, CopiesGrowWithTheLogarithmOfTheWaves) {
  for (const auto& [waves, copies] : std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {4, 2}, {8, 3}, {16, 4}, {64, 6}})
    EXPECT_EQ(gradient_copies(waves, 1), copies) << waves;
  EXPECT_EQ(gradient_copies(1, 2), 1);
  EXPECT_EQ(gradient_copies(2, 2), 2);
}

TEST(OrderedReduction, LoopbackGivesTheBitsOfTheSerialTree) {
  for (const int csx : {1, 2, 3, 4, 5, 6, 7, 8, 12, 17})
    for (const std::int64_t count : {1, 15, 16, 17, 1000})
      for (const int shards : {1, 2})
        run_loopback({shards, csx}, {.chunk_bytes = 256, .messages_in_flight = 3, .ordered = true},
                     [&](Channel& channel) { script::reduce_in_order(channel, count); });
}

// Sums move on from copy to copy; two reductions that meet in one copy wait for each other.
TEST(OrderedReduction, CarriesKeepTheOrderOfTheReductions) {
  constexpr std::int64_t count = 500;
  constexpr int waves = 8;
  run_loopback({1, 2}, {.chunk_bytes = 128, .messages_in_flight = 4, .ordered = true}, [&](Channel& channel) {
    const bool shard = channel.layout().is_memoryx(channel.rank());
    std::vector<std::vector<float>> memory(shard ? gradient_copies(waves, 1) : waves, std::vector<float>(count));
    std::vector<Ticket> tickets;
    for (int w = 0; w < waves; ++w) {
      if (shard) {
        const Landing l = landing(w, waves, 0);
        std::vector<float*> carries;
        for (const int c : l.carries) carries.push_back(memory[c].data());
        tickets.push_back(channel.reduce(ShardId(0), memory[l.copy].data(), count, carries));
      } else {
        for (std::int64_t e = 0; e < count; ++e) memory[w][e] = rounding_number(2 * w + channel.layout().csx_of(channel.rank()).index, e);
        tickets.push_back(channel.reduce(ShardId(0), memory[w].data(), count));
      }
    }
    for (const Ticket& t : tickets) t.wait();
    for (std::int64_t e = 0; shard && e < count; ++e) {
      float leaves[2 * waves];
      for (int k = 0; k < 2 * waves; ++k) leaves[k] = rounding_number(k, e);
      ASSERT_EQ(memory[0][e], tree_sum(leaves, 2 * waves)) << e;
    }
  });
}

}  // namespace
}  // namespace wsc::fabric
