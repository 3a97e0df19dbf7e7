// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/exact_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace wsc {
namespace {

TEST(ExactSum, CancelsWithoutRest) {
  ExactSum sum;
  for (const double x : {1e300 / 1e205, 3.0, -1e95, 1e-90, -3.0}) sum.add(x);
  EXPECT_EQ(sum.value(), 1e-90);
  ExactSum negative;
  negative.add(1e20);
  negative.add(-1e20);
  negative.add(-0.75);
  EXPECT_EQ(negative.value(), -0.75);
  EXPECT_EQ(ExactSum().value(), 0);
}

// Integers, whose sum is known; every order and every division into partial sums gives the same bits.
TEST(ExactSum, DoesNotDependOnTheOrder) {
  std::mt19937_64 random(3);
  std::vector<double> terms;
  __int128 expected = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto whole = static_cast<std::int64_t>(random() >> (11 + i % 50)) * (i % 3 == 0 ? -1 : 1);
    terms.push_back(static_cast<double>(whole));
    expected += whole;
  }
  for (int part : {1, 7, 500, 2000}) {
    std::shuffle(terms.begin(), terms.end(), random);
    ExactSum total;
    for (std::size_t from = 0; from < terms.size(); from += part) {
      ExactSum some;
      for (std::size_t i = from; i < std::min(terms.size(), from + part); ++i) some.add(terms[i]);
      total.add(some);
    }
    EXPECT_EQ(total.value(), static_cast<double>(expected)) << part;
  }
}

TEST(ExactSum, KeepsWhatIsNotFinite) {
  ExactSum sum;
  sum.add(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isinf(sum.value()));
  sum.add(std::nan(""));
  ExactSum other;
  other.add(1);
  other.add(sum);
  EXPECT_TRUE(std::isnan(other.value()));
}

}  // namespace
}  // namespace wsc
