// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/csx/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "wsc/base/error.hpp"

namespace wsc::csx {
namespace {

std::vector<float> some_logits(std::size_t count) {
  const RandomKey key(4, "test", "logits", 0);
  std::vector<float> logits(count);
  for (std::size_t i = 0; i < count; ++i) logits[i] = static_cast<float>(3 * key.normal(0, i));
  return logits;
}

/// The definition: a token is kept if fewer than k tokens come before it and those before it (among the k) do not reach p.
std::map<std::int32_t, double> brute_force(const std::vector<float>& logits, const Sampling& s) {
  const std::size_t n = logits.size();
  const auto before = [&](std::size_t a, std::size_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); };
  const auto rank = [&](std::size_t i) {
    std::int64_t count = 0;
    for (std::size_t j = 0; j < n; ++j) count += before(j, i);
    return count;
  };
  std::vector<double> p(n, 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (s.top_k == 0 || rank(i) < s.top_k) sum += p[i] = std::exp(static_cast<double>(logits[i]) / s.temperature);
  std::map<std::int32_t, double> kept;
  double kept_sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double ahead = 0;
    for (std::size_t j = 0; j < n; ++j) ahead += before(j, i) ? p[j] / sum : 0;
    if (p[i] > 0 && (s.top_p == 1 || ahead < s.top_p)) kept_sum += kept[static_cast<std::int32_t>(i)] = p[i];
  }
  for (auto& [id, q] : kept) q /= kept_sum;
  return kept;
}

TEST(Candidates, SameAsTheDefinition) {
  std::vector<float> logits = some_logits(50);
  logits[7] = logits[33] = logits[12];  // equals
  for (const double temperature : {0.3, 1.0, 2.5}) {
    for (const std::int64_t top_k : {0, 1, 2, 10, 50, 80}) {
      for (const double top_p : {0.01, 0.5, 0.9, 0.999, 1.0}) {
        const Sampling s{temperature, top_k, top_p};
        const auto want = brute_force(logits, s);
        const auto got = candidates(logits, s);
        ASSERT_EQ(got.size(), want.size()) << temperature << " " << top_k << " " << top_p;
        double sum = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_TRUE(want.contains(got[i].id));
          EXPECT_NEAR(got[i].probability, want.at(got[i].id), 1e-13);
          sum += got[i].probability;
          if (i == 0) continue;
          const float a = logits[got[i - 1].id], b = logits[got[i].id];
          EXPECT_TRUE(a > b || (a == b && got[i - 1].id < got[i].id));
        }
        EXPECT_NEAR(sum, 1, 1e-12);
      }
    }
  }
}

TEST(Candidates, ZeroTemperatureIsTheLowestIdOfTheHighest) {
  const std::vector<float> logits = {1, 4, -2, 4, 3};
  const auto got = candidates(logits, {.temperature = 0, .top_k = 3, .top_p = 0.1});
  ASSERT_EQ(got.size(), 1);
  EXPECT_EQ(got[0].id, 1);
  EXPECT_EQ(got[0].probability, 1);
}

TEST(Candidates, ExtremeTemperaturesAndLogits) {
  const std::vector<float> logits = {3e38f, -3e38f, 3e38f};
  for (const double temperature : {5e-324, 1e-9, 1.0, 1e300}) {
    const auto got = candidates(logits, {.temperature = temperature});
    double sum = 0;
    for (const Candidate& c : got) sum += c.probability;
    EXPECT_NEAR(sum, 1, 1e-12) << temperature;
    EXPECT_EQ(got[0].id, 0);
    EXPECT_EQ(got[1].id, 2);
  }
}

TEST(Candidates, LogitsThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = {1, 2, 3};
    logits[1] = bad;
    EXPECT_THROW(candidates(logits, {}), NumericalError);
  }
}

TEST(Draw, EachCandidateAsOftenAsItsProbabilitySays) {
  const std::vector<Candidate> all = {{7, 0.5}, {2, 0.25}, {9, 0.25}, {1, 0.0}};
  EXPECT_EQ(draw(all, 0), 7);
  EXPECT_EQ(draw(all, 0.4999), 7);
  EXPECT_EQ(draw(all, 0.5), 2);
  EXPECT_EQ(draw(all, 0.75), 9);
  EXPECT_EQ(draw(all, 1 - 0x1p-53), 9);
  const std::vector<Candidate> short_of_one = {{3, 0.5}, {4, 0.4999}, {5, 0.0}};
  EXPECT_EQ(draw(short_of_one, 1 - 0x1p-53), 4);  // never what has no probability
}

}  // namespace
}  // namespace wsc::csx
