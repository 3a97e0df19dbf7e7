// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Macros.hpp>

/// Number formats of 16 bits. Arithmetic happens in float; these are for memory and wire.
namespace wsc {

/// Sign, E exponent bits of bias 2^(E−1) − 1, M mantissa bits, all as in IEEE 754: exponent 0 holds zero and subnormals, the largest one
/// infinity (mantissa 0) and NaN. Conversion is without branches, so that loops over it become vector instructions.
template <int E, int M>
struct Float16 {
  static_assert(1 + E + M == 16);
  static constexpr int exponent_bits = E, mantissa_bits = M;
  static constexpr int bias = (1 << (E - 1)) - 1;
  static constexpr std::uint16_t infinity = static_cast<std::uint16_t>(((1 << E) - 1) << M);

  std::uint16_t bits;

  Float16() = default;  // uninitialised, as float is
  /// To nearest, ties to even; beyond the largest number (half a step included) infinity; NaN stays NaN, quiet, with its sign.
  KOKKOS_FUNCTION explicit Float16(float value) : bits(narrowed(value)) {}
  /// Exact.
  KOKKOS_FUNCTION explicit operator float() const { return widened(bits); }

 private:
  static constexpr int dropped = 23 - M;               // mantissa bits of a float that are rounded away
  static constexpr int bias_distance = 127 - bias;     // 0 for bfloat16
  static constexpr int least_exponent = 1 - bias - M;  // the smallest subnormal is 2 to this

  /// 2^exponent, as a constant.
  KOKKOS_FUNCTION static constexpr float power_of_two(int exponent) {
    float value = 1;
    for (; exponent > 0; --exponent) value *= 2;
    for (; exponent < 0; ++exponent) value /= 2;
    return value;
  }

  KOKKOS_FUNCTION static std::uint16_t narrowed(float value) {
    const std::uint32_t u = Kokkos::bit_cast<std::uint32_t>(value), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    // Rounding up may carry into the exponent: that is the next number, or infinity.
    const std::uint32_t even = (magnitude >> dropped) & 1u, rounded = magnitude + ((1u << (dropped - 1)) - 1u) + even;
    std::uint32_t code = (rounded >> dropped) - (std::uint32_t{bias_distance} << M);
    if constexpr (bias_distance > 0) {
      // Below the normal numbers a sum does the rounding: the last bit of `offset` is worth the smallest subnormal.
      constexpr float offset = power_of_two(23 + least_exponent);
      constexpr std::uint32_t first_normal = std::uint32_t{bias_distance + 1} << 23;
      const std::uint32_t subnormal =
          Kokkos::bit_cast<std::uint32_t>(Kokkos::bit_cast<float>(magnitude) + offset) - Kokkos::bit_cast<std::uint32_t>(offset);
      code = magnitude < first_normal ? subnormal : code;
      code = magnitude >= first_normal && code > infinity ? infinity : code;
    }
    const std::uint32_t nan = infinity | (1u << (M - 1)) | ((magnitude & 0x7fffffu) >> dropped);
    return static_cast<std::uint16_t>(sign | (magnitude > 0x7f800000u ? nan : code));
  }

  KOKKOS_FUNCTION static float widened(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    std::uint32_t u = (magnitude << dropped) + (std::uint32_t{bias_distance} << 23);
    if constexpr (bias_distance > 0) {
      constexpr float unit = power_of_two(least_exponent);
      const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * unit;
      u = magnitude < (1u << M) ? Kokkos::bit_cast<std::uint32_t>(subnormal) : u;
      u = magnitude >= infinity ? 0x7f800000u | (magnitude << dropped) : u;
    }
    return Kokkos::bit_cast<float>(sign | u);
  }
};

using bfloat16 = Float16<8, 7>;
using float16 = Float16<5, 10>;   ///< IEEE half precision
using cbfloat16 = Float16<6, 9>;  ///< docs/decisions/009-number-formats.md

static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);

/// to[i] = from[i] for i < n, rounded.
template <class Format>
void narrow(std::int64_t n, const float* from, Format* to) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i].bits = Format(from[i]).bits;  // a number, not a struct: or there are no vectors
}

/// to[i] = from[i] for i < n, exactly.
template <class Format>
void widen(std::int64_t n, const Format* from, float* to) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace wsc
