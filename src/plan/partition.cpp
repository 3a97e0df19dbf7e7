// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/plan.hpp"

namespace wsc::plan {

SampleRange leaf_samples(std::int64_t batch, std::int64_t leaves, std::int64_t k) { return {k * batch / leaves, (k + 1) * batch / leaves}; }

SampleRange csx_leaves(std::int64_t leaves, std::int64_t waves, int csx, std::int64_t wave, int i) {
  const std::int64_t first = wave * leaves / waves, count = (wave + 1) * leaves / waves - first;
  return {first + i * count / csx, first + (i + 1) * count / csx};
}

bool whole_subtrees(std::int64_t leaves, std::int64_t waves, int csx) {
  const auto power_of_two = [](std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; };
  if (leaves % (waves * csx) != 0) return false;
  const bool one_part = waves * csx == 1, waves_fit = waves == 1 || power_of_two(leaves / waves);
  return one_part || (waves_fit && power_of_two(leaves / (waves * csx)));
}

}  // namespace wsc::plan
