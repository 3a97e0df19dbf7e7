// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
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

  /// Standard normal: the inverse distribution function of a uniform number with 32 bits, so |x| < 6.4.
  KOKKOS_INLINE_FUNCTION double normal(std::uint64_t sample, std::uint64_t element) const {
    return inverse_normal((bits(sample, element / 4)[element % 4] + 0.5) * 0x1p-32);
  }

  /// Standard normal conditioned on |x| ≤ 2, not rescaled.
  KOKKOS_INLINE_FUNCTION double truncated_normal(std::uint64_t sample, std::uint64_t element) const {
    constexpr double below = 0.022750131948179195, within = 0.95449973610364158;  // Φ(−2), Φ(2) − Φ(−2)
    const double uniform = (bits(sample, element / 4)[element % 4] + 0.5) * 0x1p-32;
    return inverse_normal(below + within * uniform);
  }

  /// x with Φ(x) = p for 1e-10 ≤ p ≤ 1 − 1e-10, about seven digits (Wichura 1988, algorithm AS 241, PPND7).
  KOKKOS_INLINE_FUNCTION static double inverse_normal(double p) {
    const double q = p - 0.5;
    if (q >= -0.425 && q <= 0.425) {
      const double r = 0.180625 - q * q;
      return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
             (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
    }
    const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p)) - 1.6;
    const double x =
        (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) / ((0.12021132975 * r + 0.73700164250) * r + 1.0);
    return q < 0 ? -x : x;
  }

 private:
  std::uint64_t key_ = 0;
};

}  // namespace wsc
