// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/random.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace wsc {
namespace {

// Known answers of Philox4x32-10 published with Random123 (kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (std::array<std::uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull), (std::array<std::uint32_t, 4>{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox(0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull),
            (std::array<std::uint32_t, 4>{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(RandomKey, TruncatedNormalHasItsMomentsAndStaysWithinTwoSigma) {
  const RandomKey key(1, "init", "some/weight", 0);
  double sum = 0, squares = 0, fourth = 0;
  const int n = 400000;
  for (int i = 0; i < n; ++i) {
    const double x = key.truncated_normal(0, i);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    ASSERT_LE(std::fabs(x), 2 + 1e-6);
  }
  EXPECT_NEAR(sum / n, 0, 0.006);
  EXPECT_NEAR(squares / n, 0.77374, 0.005);  // 1 − 4 φ(2) / (Φ(2) − Φ(−2))
  EXPECT_NEAR(fourth / n, 1.41613, 0.02);    // 3 · variance − 16 φ(2) / (Φ(2) − Φ(−2))
}

TEST(RandomKey, InverseNormalInvertsTheDistributionFunction) {
  for (double p = 1e-6; p < 1; p += 0.000997) {
    const double x = RandomKey::inverse_normal(p), back = 0.5 * std::erfc(-x / std::sqrt(2.0));
    EXPECT_NEAR(back, p, 2e-7 * std::min(p, 1 - p) * (1 + x * x)) << p;
  }
}

TEST(RandomKey, PurposeNameStepAndSampleAllMatter) {
  const float base = RandomKey(1, "dropout", "a", 3).uniform(2, 5);
  EXPECT_NE(base, RandomKey(2, "dropout", "a", 3).uniform(2, 5));
  EXPECT_NE(base, RandomKey(1, "init", "a", 3).uniform(2, 5));
  EXPECT_NE(base, RandomKey(1, "dropout", "b", 3).uniform(2, 5));
  EXPECT_NE(base, RandomKey(1, "dropout", "a", 4).uniform(2, 5));
  EXPECT_NE(base, RandomKey(1, "dropout", "a", 3).uniform(3, 5));
  EXPECT_EQ(base, RandomKey(1, "dropout", "a", 3).uniform(2, 5));
}

}  // namespace
}  // namespace wsc
