// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/formats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "wsc/base/random.hpp"

namespace wsc {
namespace {

constexpr int codes = 1 << 16;

/// The value of a code by the definition of the format, in double: every one is exact there.
template <class F>
double value_of(int code) {
  const int mantissa = code & ((1 << F::mantissa_bits) - 1), exponent = (code >> F::mantissa_bits) & ((1 << F::exponent_bits) - 1);
  const double sign = code >= codes / 2 ? -1 : 1, scale = std::ldexp(1.0, -F::mantissa_bits);
  if (exponent == (1 << F::exponent_bits) - 1)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa * scale, 1 - F::bias);
  return sign * std::ldexp(1 + mantissa * scale, exponent - F::bias);
}

/// Magnitudes of the codes 0, 1, 2 … up to the largest finite one, then what the next one would be: where rounding begins to overflow.
template <class F>
std::vector<double> magnitudes() {
  std::vector<double> all;
  for (int code = 0; code < F::infinity; ++code) all.push_back(value_of<F>(code));
  all.push_back(std::ldexp(1.0, F::bias + 1));
  return all;
}

/// Nearest code by search in that table, ties to the even code.
template <class F>
std::uint16_t nearest(const std::vector<double>& table, float x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double m = std::fabs(static_cast<double>(x));
  if (m >= table.back()) return sign | F::infinity;
  const auto above = std::upper_bound(table.begin(), table.end(), m) - table.begin(), below = above - 1;
  const double up = table[above] - m, down = m - table[below];
  const bool take_above = up < down || (up == down && above % 2 == 0);
  return static_cast<std::uint16_t>(sign | (take_above ? above : below));
}

template <class F>
class Formats : public testing::Test {
 protected:
  const std::vector<double> table_ = magnitudes<F>();

  void expect_nearest(float x) const {
    ASSERT_FALSE(std::isnan(x));
    ASSERT_EQ(F(x).bits, nearest<F>(table_, x)) << std::hexfloat << x;
  }
};
using All = testing::Types<bfloat16, float16, cbfloat16>;
TYPED_TEST_SUITE(Formats, All);

TYPED_TEST(Formats, EveryCodeHasItsValueAndComesBack) {
  for (int code = 0; code < codes; ++code) {
    TypeParam x;
    x.bits = static_cast<std::uint16_t>(code);
    const float wide = static_cast<float>(x);
    const double expected = value_of<TypeParam>(code);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << code;
      ASSERT_EQ(TypeParam(wide).bits, code | (1 << (TypeParam::mantissa_bits - 1))) << "quiet, with sign and payload";
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide), expected) << code;
    ASSERT_EQ(std::signbit(wide), code >= codes / 2) << code;
    ASSERT_EQ(TypeParam(wide).bits, code);
  }
}

// Where rounding can go wrong: each number, the middle to the next, and their neighbours among the floats.
TYPED_TEST(Formats, MiddlesAndTheirNeighboursRoundToNearestEven) {
  for (std::size_t i = 0; i + 1 < this->table_.size(); ++i)
    for (const double x : {this->table_[i], (this->table_[i] + this->table_[i + 1]) / 2}) {
      const float f = static_cast<float>(x);
      ASSERT_EQ(static_cast<double>(f), x);
      for (const float near : {f, std::nextafter(f, 0.0f), std::nextafter(f, INFINITY)}) {
        if (std::isinf(near)) continue;
        this->expect_nearest(near);
        this->expect_nearest(-near);
      }
    }
}

TYPED_TEST(Formats, AMillionRandomFloatsRoundToNearestEven) {
  for (std::uint32_t i = 0; i < 250000; ++i) {
    const auto random = philox(9, 0, i);
    // Two of any bits, two with exponents in and around the format's range.
    for (int k = 0; k < 4; ++k) {
      float x = std::bit_cast<float>(random[k]);
      if (k >= 2) {
        const std::uint32_t range = 2 * TypeParam::bias + TypeParam::mantissa_bits + 6,
                            lowest = 127 - TypeParam::bias - TypeParam::mantissa_bits - 3;
        const std::int64_t exponent = std::int64_t{static_cast<std::int32_t>(lowest)} + (random[k] >> 8) % range;
        x = std::bit_cast<float>((random[k] & 0x807fffffu) | static_cast<std::uint32_t>(std::clamp<std::int64_t>(exponent, 0, 254)) << 23);
      }
      if (!std::isnan(x)) this->expect_nearest(x);
    }
  }
}

TYPED_TEST(Formats, EdgesOfTheRange) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto bits = [](float x) { return TypeParam(x).bits; };
  EXPECT_EQ(bits(0.0f), 0);
  EXPECT_EQ(bits(-0.0f), 0x8000);
  EXPECT_EQ(bits(inf), TypeParam::infinity);
  EXPECT_EQ(bits(-inf), 0x8000 | TypeParam::infinity);
  EXPECT_EQ(bits(std::numeric_limits<float>::max()), TypeParam::infinity);
  const double largest = this->table_[TypeParam::infinity - 1], step = largest - this->table_[TypeParam::infinity - 2];
  const float overflow = static_cast<float>(largest + step / 2);  // a tie, whose even side is infinity
  EXPECT_EQ(bits(overflow), TypeParam::infinity);
  EXPECT_EQ(bits(std::nextafter(overflow, 0.0f)), TypeParam::infinity - 1);
  for (const float nan : {std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffffffffu)})
    EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(nan))));
}

TYPED_TEST(Formats, ArraysConvertAsTheirElements) {
  std::vector<float> x(1031), back(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<float>(philox(10, 0, i)[0]);
  std::vector<TypeParam> narrow_x(x.size());
  narrow(std::ssize(x), x.data(), narrow_x.data());
  widen(std::ssize(x), narrow_x.data(), back.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(narrow_x[i].bits, TypeParam(x[i]).bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(static_cast<float>(narrow_x[i])));
  }
}

// The range that the highest loss scale of the domain manual implies: 2^15 for half precision, 2^31 for cbfloat16.
TEST(Formats16, TheHighestPowersOfTwo) {
  for (const auto& [power, bits] :
       {std::pair{float16(0x1p15f).bits, float16(0x1p16f).bits}, {cbfloat16(0x1p31f).bits, cbfloat16(0x1p32f).bits}})
    EXPECT_LT(power, bits);
  EXPECT_EQ(float16(0x1p16f).bits, float16::infinity);
  EXPECT_EQ(cbfloat16(0x1p32f).bits, cbfloat16::infinity);
  EXPECT_EQ(static_cast<float>(cbfloat16(0x1p-39f)), 0x1p-39f);
  EXPECT_EQ(static_cast<float>(cbfloat16(0x1p-40f)), 0.0f);
}

#ifdef __FLT16_MANT_DIG__
// The compiler's own type (and through it the processor's instructions).
TEST(Formats16, HalfPrecisionIsTheCompilers) {
  for (std::uint32_t i = 0; i < 1000000; ++i) {
    std::uint32_t u = philox(11, 0, i)[0];
    if (i % 2 == 0) u = (u & 0x807fffffu) | (((u >> 8) % 48 + 100) << 23);
    const float x = std::bit_cast<float>(u);
    if (std::isnan(x)) continue;
    ASSERT_EQ(float16(x).bits, std::bit_cast<std::uint16_t>(static_cast<_Float16>(x))) << std::hexfloat << x;
  }
}
#endif

}  // namespace
}  // namespace wsc
