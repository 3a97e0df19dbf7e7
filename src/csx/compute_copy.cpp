// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/csx/compute_copy.hpp"

#include "wsc/base/error.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/plan/arena.hpp"

namespace wsc::csx {

void ComputeCopy::reserve(Precision compute, std::int64_t elements) {
  const auto bytes = static_cast<std::size_t>(elements * bytes_of(compute));
  if (memory_.size() >= bytes) return;
  memory_ = Buffer<std::byte>();  // before the larger one, not beside it
  memory_ = Buffer<std::byte>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "wsc::csx::compute_copy"), bytes);
}

std::vector<const void*> ComputeCopy::take(const Exec& exec, Precision wire, const std::vector<WireBlock>& blocks, Precision compute) {
  std::vector<const void*> result;
  std::int64_t place = 0;  // bytes
  for (const WireBlock& block : blocks) {
    if (wire == compute) {
      result.push_back(block.data);
      continue;
    }
    const std::int64_t from_size = bytes_of(wire), to_size = bytes_of(compute);
    const std::byte* const from = static_cast<const std::byte*>(block.data);
    std::byte* const to = memory_.data() + place;
    place += plan::aligned(block.elements, compute) * to_size;
    WSC_EXPECT(place <= static_cast<std::int64_t>(memory_.size()));
    kernels::for_chunks("wsc::csx::compute_copy", exec, block.elements, [=](std::int64_t first, std::int64_t last) {
      convert(last - first, wire, from + first * from_size, compute, to + first * to_size);
    });
    result.push_back(to);
  }
  if (wire != compute) exec.fence("wsc::csx::compute_copy");  // the next visit's blocks may overwrite what was read
  return result;
}

}  // namespace wsc::csx
