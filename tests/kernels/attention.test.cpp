// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

template <class Real>
Attention make_op(OpFixture<Real>& f, std::int64_t heads, std::int64_t size, double dropout = 0) {
  const std::int64_t width = heads * size;
  return {.qkv = f.tensor(3 * width),
          .y = f.tensor(width),
          .log_sum = f.tensor(heads),
          .width = width,
          .heads = heads,
          .dropout_rate = dropout,
          .name = "layers/0/attention"};
}

template <class Real>
class AttentionKernel : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionKernel, Reals);

TYPED_TEST(AttentionKernel, SameAsReference) {
  for (const bool packed : {false, true}) {
    for (const bool accumulate : {false, true}) {
      for (const double dropout : {0.0, 0.2}) {
        for (const auto& [tokens, heads, size] :
             std::vector<std::array<std::int64_t, 3>>{{1, 1, 8}, {2, 3, 5}, {65, 2, 8}, {130, 1, 16}, {300, 1, 20}}) {
          OpFixture<TypeParam> f(3, tokens);
          if (packed) f.pack({20, 70, 3});
          expect_same_as_reference(make_op(f, heads, size, dropout), f, accumulate);
        }
      }
    }
  }
}

TYPED_TEST(AttentionKernel, NoDropoutOutsideTraining) {
  OpFixture<TypeParam> f(1, 33);
  f.training = false;
  expect_same_as_reference(make_op(f, 2, 8, 0.5), f, false);
}

TYPED_TEST(AttentionKernel, SpansThatEndBeforeTheirDocument) {
  OpFixture<TypeParam> f(1, 70);
  f.pack({70});
  for (std::size_t j = 0; j < 70; ++j) f.spans()[j] = static_cast<std::int32_t>(j * 7 % 5);  // any span the format allows
  expect_same_as_reference(make_op(f, 2, 8), f, false);
}

TYPED_TEST(AttentionKernel, RowsThatSeeNothingGiveZero) {
  OpFixture<TypeParam> f(1, 67);
  f.pack({67});
  for (std::int32_t& span : f.spans()) span = -1;
  const Attention op = make_op(f, 1, 8);
  expect_same_as_reference(op, f, false);
  for (const TypeParam y : f.at(op.y).value) EXPECT_EQ(y, 0);
}

// Scores of ±10^4: the running maximum keeps exp in range.
TYPED_TEST(AttentionKernel, LargeScores) {
  OpFixture<TypeParam> f(1, 10);
  const Attention op = make_op(f, 1, 4);
  f.randomise(op);
  for (TypeParam& v : f.at(op.qkv).value) v *= 100;
  forward(op, f);
  backward(op, f);
  for (const TypeParam v : f.at(op.y).value) EXPECT_TRUE(std::isfinite(v));
  for (const TypeParam v : f.at(op.qkv).gradient) EXPECT_TRUE(std::isfinite(v));
}

// A document does not see its neighbours: changing one leaves the other bit for bit as it was.
TEST(AttentionDocuments, DoNotSeeEachOther) {
  OpFixture<float> f(1, 150);
  f.pack({70, 80});
  const Attention op = make_op(f, 2, 8);
  f.randomise(op);
  forward(op, f);
  const std::vector<float> before = f.at(op.y).value;
  for (std::int64_t i = 0; i < 70 * 48; ++i) f.at(op.qkv).value[i] += 1;
  forward(op, f);
  const std::vector<float>& after = f.at(op.y).value;
  EXPECT_NE(std::vector<float>(before.begin(), before.begin() + 70 * 16), std::vector<float>(after.begin(), after.begin() + 70 * 16));
  EXPECT_EQ(std::vector<float>(before.begin() + 70 * 16, before.end()), std::vector<float>(after.begin() + 70 * 16, after.end()));
}

TEST(AttentionGradient, FiniteDifferences) {
  OpFixture<double> small(1, 5);
  expect_gradients(make_op(small, 2, 3), small);
  OpFixture<double> f(2, 70);
  f.pack({20, 50});
  expect_gradients(make_op(f, 2, 4, 0.2), f);
}

TEST(AttentionDeterminism, ThreadsAndRuns) {
  OpFixture<float> f(2, 150);
  const Attention op = make_op(f, 3, 16, 0.1);
  expect_reproducible(op, [&] { return f; });
  expect_nan_passes(op, [&] { return f; });
}

}  // namespace
}  // namespace wsc::kernels
