// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/precision.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "wsc/base/formats.hpp"
#include "wsc/base/random.hpp"

namespace wsc {
namespace {

constexpr Precision all[] = {Precision::fp32, Precision::bf16, Precision::fp16, Precision::cb16};

TEST(Precision, NamesAndTheirInverse) {
  for (const Precision p : all) EXPECT_EQ(precision_of(name(p)), p);
  EXPECT_EQ(name(Precision::bf16), "bf16");
}

TEST(Precision, ConversionsAreThoseOfTheTypes) {
  const RandomKey key(1, "precision", "", 0);
  constexpr int count = 3000;  // more than one piece of a conversion between two formats of 16 bits
  std::vector<float> x(count), back(count);
  for (int i = 0; i < count; ++i) x[i] = static_cast<float>(key.truncated_normal(0, i));
  std::vector<bfloat16> narrow(count);
  std::vector<float16> other(count);
  convert(count, Precision::fp32, x.data(), Precision::bf16, narrow.data());
  convert(count, Precision::bf16, narrow.data(), Precision::fp16, other.data());
  convert(count, Precision::fp16, other.data(), Precision::fp32, back.data());
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ(narrow[i].bits, bfloat16(x[i]).bits);
    ASSERT_EQ(back[i], static_cast<float>(float16(static_cast<float>(bfloat16(x[i])))));
  }
  convert(count, Precision::fp32, x.data(), Precision::fp32, back.data());
  EXPECT_EQ(back, x);
}

}  // namespace
}  // namespace wsc
