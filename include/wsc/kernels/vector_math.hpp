// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <Kokkos_Macros.hpp>

/// Branch-free exp and normal distribution function for inner loops that the compiler turns into vector code, the same numbers on every
/// C library. A NaN goes in and a NaN comes out. fp32: own polynomials; double: the standard library's functions.
/// Not for files compiled with -ffast-math: the rounding trick in exponential() needs its operations in the order written.
namespace wsc::kernels {

/// e^x. fp32: argument reduction by Cody and Waite (1980, ch. 6) to |r| ≤ ln 2 / 2, then 1 + r + r² p(r) with p the interpolation in the
/// Chebyshev nodes of degree 4 (relative error 1.1e-8 before rounding). 0 below −87.3, infinity above 88.3.
KOKKOS_FORCEINLINE_FUNCTION float exponential(float x) {
  constexpr float lowest = -87.3f, highest = 88.3f;
  constexpr float to_integer = 12582912.0f;  // 1.5 · 2^23: adding it leaves the nearest integer in the low bits
  float y = x < lowest ? lowest : x;         // a NaN fails every comparison and stays
  y = y > highest ? highest : y;
  const float shifted = y * 1.44269504088896f + to_integer;
  const float n = shifted - to_integer;
  const float r = (y - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  float p = 0.001392692661f;
  p = p * r + 0.008363773874f;
  p = p * r + 0.04166655011f;
  p = p * r + 0.1666657338f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  const float power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000u);  // 2^n
  const float result = p * power;
  const float low = x < lowest ? 0.0f : result;
  return x > highest ? std::numeric_limits<float>::infinity() : low;
}
KOKKOS_FORCEINLINE_FUNCTION double exponential(double x) { return std::exp(x); }

/// Φ(−|x|), the tail of the standard normal distribution, given g = exp(−x² / 2). fp32: g · u · p(u) with u = 1 / (1 + 0.35 |x|), the
/// form of Abramowitz and Stegun 7.1.26 with a polynomial of degree 8 that interpolates exp(x² / 2) Φ(−x) / u in the Chebyshev nodes of
/// 0 ≤ x ≤ 13.5 (relative error 4e-8 before rounding).
KOKKOS_FORCEINLINE_FUNCTION float normal_tail(float x, float g) {
  const float u = 1.0f / (1.0f + 0.35f * std::fabs(x));
  float p = -0.02960979549f;
  p = p * u + 0.1462242065f;
  p = p * u - 0.2603379054f;
  p = p * u + 0.1643917355f;
  p = p * u - 0.02663309792f;
  p = p * u + 0.1069582404f;
  p = p * u + 0.1194794327f;
  p = p * u + 0.139908265f;
  p = p * u + 0.139618902f;
  return g * (u * p);
}
KOKKOS_FORCEINLINE_FUNCTION double normal_tail(double x, double) { return 0.5 * std::erfc(std::fabs(x) * 0.70710678118654752440); }

}  // namespace wsc::kernels
