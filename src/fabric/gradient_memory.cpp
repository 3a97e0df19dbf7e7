// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "gradient_memory.hpp"

#include <algorithm>
#include <cstring>

namespace wsc::fabric {
namespace {

/// body(first, count) on pieces of 64 KiB.
template <class Body>
void for_pieces(const char* label, const Exec& exec, std::int64_t count, const Body& body) {
  constexpr std::int64_t piece = 16384;
  Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, (count + piece - 1) / piece),
                       [=](std::int64_t p) { body(p * piece, std::min(piece, count - p * piece)); });
  exec.fence(label);
}

}  // namespace

void zero(const Exec& exec, float* data, std::int64_t count) {
  for_pieces("wsc::fabric::zero_gradients", exec, count,
             [=](std::int64_t first, std::int64_t n) { std::memset(data + first, 0, static_cast<std::size_t>(n) * sizeof(float)); });
}

void add(const Exec& exec, float* sum, const float* part, std::int64_t count) {
  for_pieces("wsc::fabric::add_gradients", exec, count, [=](std::int64_t first, std::int64_t n) {
#pragma omp simd
    for (std::int64_t e = first; e < first + n; ++e) sum[e] += part[e];
  });
}

void carry(const Exec& exec, float* sum, float* part, std::int64_t count) {
  for_pieces("wsc::fabric::carry_gradients", exec, count, [=](std::int64_t first, std::int64_t n) {
#pragma omp simd
    for (std::int64_t e = first; e < first + n; ++e) {
      sum[e] += part[e];
      part[e] = 0;
    }
  });
}

void grow(Buffer<float>& buffer, std::int64_t elements, const std::string& label) {
  if (static_cast<std::int64_t>(buffer.extent(0)) >= elements) return;
  buffer = Buffer<float>();  // the old one goes before the new one comes
  buffer = Buffer<float>(Kokkos::view_alloc(label, Kokkos::WithoutInitializing), static_cast<std::size_t>(elements));
}

}  // namespace wsc::fabric
