// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

/// The one binary tree in which the order-keeping engine adds n contributions: T(n) = T(p) + T(n − p) with p the largest power of two
/// below n. It is what a binary counter does: an aligned run of 2^k contributions is a whole subtree, so whoever holds such a run can add
/// it by himself, and the sum of all is bitwise the same however the runs are dealt out.
namespace wsc::fabric {

/// Contributions of the left half of a tree over `count` > 1.
std::int64_t left_part(std::int64_t count);

/// What one csx does in the reduction of one message over all csx.
struct TreePart {
  std::vector<int> children;  ///< csx whose sums it adds to its own, in this order
  int parent = -1;            ///< csx that takes the result; −1 = the shard
};
/// Which csx adds two halves changes from message to message, so that every csx receives about as much as it sends. The sum does not
/// notice: a + b = b + a.
TreePart tree_part(int csx, int count, std::int64_t message);
/// The csx whose results the shard adds: the two halves of the tree, or the only csx.
std::vector<int> tree_heads(int count, std::int64_t message);

/// Where the contribution of one wave to a block is added in its shard. Copies of the gradient sum are numbered, copy 0 is the sum itself;
/// all are zero when a pass begins and, but for copy 0, when it ends.
struct Landing {
  int copy = 0;
  std::vector<int> carries;  ///< then each of these copies += the one before it, which becomes zero
  bool fresh = false;        ///< the copy is zero before
};
/// A block with several contributions per wave (its slots: a tied embedding has two) adds up each slot over the waves, then the slots in
/// order. Two waves share a copy, since the second is added to the first as it arrives.
Landing landing(std::int64_t wave, std::int64_t waves, int slot);
/// Copies that a block with so many slots needs: about log2 of the waves for each; one copy for all where there is one wave.
int gradient_copies(std::int64_t waves, int slots);

}  // namespace wsc::fabric
