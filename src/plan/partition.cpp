// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/plan.hpp"

namespace wsc::plan {

SampleRange leaf_samples(std::int64_t batch, std::int64_t leaves, std::int64_t k) { return {k * batch / leaves, (k + 1) * batch / leaves}; }

SampleRange csx_leaves(std::int64_t leaves, std::int64_t waves, int csx, std::int64_t wave, int i) {
  const std::int64_t first = wave * leaves / waves, count = (wave + 1) * leaves / waves - first;
  return {first + i * count / csx, first + (i + 1) * count / csx};
}

}  // namespace wsc::plan
