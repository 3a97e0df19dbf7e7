// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <Kokkos_Macros.hpp>

namespace wsc {

/// FNV-1a, 64 bits: keys of the random generator from names. Not for integrity.
constexpr std::uint64_t hash_name(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

/// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3): a keyed bijection of 128-bit
/// counters. Random numbers depend on what they are for and where they are used, never on the number of ranks, threads or tiles.
KOKKOS_INLINE_FUNCTION std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_high, std::uint64_t counter_low) {
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low), c1 = static_cast<std::uint32_t>(counter_low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high), c3 = static_cast<std::uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0, p1 = std::uint64_t{0xCD9E8D57u} * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

/// A stream of random numbers for one purpose: (seed, purpose, name of an op or parameter, step). Elements are then addressed by
/// (sample's position in the global batch, element within the sample); initial weights use sample 0.
class RandomKey {
 public:
  RandomKey() = default;
  RandomKey(std::uint64_t seed, std::string_view purpose, std::string_view name, std::uint64_t step);

  /// 4 × 32 random bits of elements 4·quad … 4·quad + 3 of a sample.
  KOKKOS_INLINE_FUNCTION std::array<std::uint32_t, 4> bits(std::uint64_t sample, std::uint64_t quad) const {
    return philox(key_, sample, quad);
  }

  /// Uniform in [0, 1) with 24 bits: the element's number does not depend on how a caller groups elements.
  KOKKOS_INLINE_FUNCTION float uniform(std::uint64_t sample, std::uint64_t element) const {
    return static_cast<float>(bits(sample, element / 4)[element % 4] >> 8) * 0x1p-24f;
  }

  /// Standard normal, double precision (Box and Muller 1958), one per element.
  double normal(std::uint64_t sample, std::uint64_t element) const;

  /// Standard normal conditioned on |x| ≤ 2, by rejection; not rescaled.
  double truncated_normal(std::uint64_t sample, std::uint64_t element) const;

 private:
  double normal_attempt(std::uint64_t sample, std::uint64_t element, std::uint32_t attempt) const;
  std::uint64_t key_ = 0;
};

}  // namespace wsc
