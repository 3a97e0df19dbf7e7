// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/cached_attention.hpp"

#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

/// One text whose queries, keys and values are given, fed to the cache in pieces.
template <class Real>
struct CachedText {
  std::int64_t tokens, positions;
  Attention op;
  std::vector<Real> qkv, keys, values, y, workspace;

  CachedText(std::int64_t tokens, std::int64_t positions, std::int64_t heads, std::int64_t size, int threads = 2)
      : tokens(tokens), positions(positions) {
    op = {.qkv = TensorId(0), .y = TensorId(1), .log_sum = TensorId(2), .width = heads * size, .heads = heads};
    const Real nan = std::numeric_limits<Real>::quiet_NaN();  // what is not written must not be read
    qkv.resize(tokens * 3 * op.width);
    const RandomKey key(8, "test", "cached_attention", 0);
    for (std::size_t i = 0; i < qkv.size(); ++i) qkv[i] = static_cast<Real>(key.normal(0, i));
    keys.assign(positions * op.width, nan);
    values = keys;
    y.assign(tokens * op.width, nan);
    workspace.assign(cached_attention_workspace(positions, threads), nan);
  }

  /// In pieces of these lengths, over and over until the text ends.
  void feed(const std::vector<std::int64_t>& pieces, const Exec& exec = Exec()) {
    const KeyValueCache<Real> cache{Matrix<Real>(keys.data(), positions, op.width), Matrix<Real>(values.data(), positions, op.width)};
    std::int64_t length = 0;
    for (std::size_t i = 0; length < tokens; ++i) {
      const std::int64_t rows = std::min(pieces[i % pieces.size()], tokens - length);
      cached_attention<Real>(exec, op, Matrix<const Real>(qkv.data() + length * 3 * op.width, rows, 3 * op.width), cache, length,
                             Matrix<Real>(y.data() + length * op.width, rows, op.width), Vector<Real>(workspace.data(), workspace.size()));
      length += rows;
    }
  }

  std::vector<double> reference() const {
    reference::Data d;
    d.count = d.tokens = tokens;
    d.training = false;
    for (std::int64_t t = 0; t < tokens; ++t) d.token.push_back(static_cast<std::int32_t>(t));
    d.sample.assign(tokens, 0);
    d.value[op.qkv] = reference::Array(tokens, 3 * op.width);
    d.value[op.qkv].data.assign(qkv.begin(), qkv.end());
    d.value[op.y] = reference::Array(tokens, op.width);
    d.value[op.log_sum] = reference::Array(tokens, op.heads);
    reference::forward(op, d);
    return d.value[op.y].data;
  }
};

template <class Real>
class CachedAttention : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(CachedAttention, Reals);

TYPED_TEST(CachedAttention, SameAsReferenceInPiecesOfAnyLength) {
  const CachedText<TypeParam> whole(150, 151, 3, 5);
  const std::vector<double> want = whole.reference();
  for (const auto& pieces : std::vector<std::vector<std::int64_t>>{{1}, {150}, {7}, {100, 1, 1, 40}, {64, 65}}) {
    CachedText<TypeParam> text = whole;
    text.feed(pieces);
    expect_near(text.y, want, "pieces of " + std::to_string(pieces[0]));
  }
}

TYPED_TEST(CachedAttention, OneTokenAndAFullCache) {
  for (const std::int64_t tokens : {1, 17}) {
    CachedText<TypeParam> text(tokens, tokens, 2, 8);
    text.feed({1});
    expect_near(text.y, text.reference(), std::to_string(tokens) + " tokens");
  }
}

// Scores of ±10^4: the maximum keeps exp in range.
TYPED_TEST(CachedAttention, LargeScores) {
  CachedText<TypeParam> text(20, 20, 1, 4);
  for (TypeParam& v : text.qkv) v *= 100;
  text.feed({6});
  for (const TypeParam v : text.y) EXPECT_TRUE(std::isfinite(v));
}

// A NaN in a key shows in every later token and in no earlier one.
TYPED_TEST(CachedAttention, NanPassesForwardOnly) {
  CachedText<TypeParam> text(20, 20, 1, 4);
  text.qkv[12 * 12 + 5] = std::numeric_limits<TypeParam>::quiet_NaN();
  text.feed({9});
  for (std::int64_t t = 0; t < 20; ++t) EXPECT_EQ(std::isnan(text.y[t * 4]), t >= 12) << t;
}

TEST(CachedAttentionDeterminism, ThreadsAndRuns) {
  const auto run = [](int threads) {
    CachedText<float> text(90, 100, 3, 16, threads);
    text.feed({70, 1}, exec_of(threads));
    return text.y;
  };
  const std::vector<float> first = run(2);
  EXPECT_EQ(first, run(2));
  EXPECT_EQ(first, run(1));
}

}  // namespace
}  // namespace wsc::kernels
