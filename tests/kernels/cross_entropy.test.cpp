// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

template <class Real>
CrossEntropy make_op(OpFixture<Real>& f, std::int64_t width, std::int64_t vocab) {
  return {.x = f.tensor(width), .logits = f.tensor(vocab), .table = f.weight(vocab, width), .width = width, .vocab = vocab};
}

template <class Real>
class CrossEntropyKernel : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(CrossEntropyKernel, Reals);

TYPED_TEST(CrossEntropyKernel, SameAsReference) {
  for (const bool masked : {false, true}) {
    for (const bool accumulate : {false, true}) {
      for (const auto& [tokens, width, vocab] : std::vector<std::array<std::int64_t, 3>>{{1, 8, 3}, {65, 33, 257}, {5, 16, 1000}}) {
        OpFixture<TypeParam> f(2, tokens, vocab);
        if (masked) f.mask_some();
        f.gradient_scale = 0.125;
        expect_same_as_reference(make_op(f, width, vocab), f, accumulate);
      }
    }
  }
}

TEST(CrossEntropyLoss, UniformLogitsGiveLogVocab) {
  OpFixture<float> f(1, 3, 50257);
  const CrossEntropy op = make_op(f, 4, 50257);
  f.randomise(op);
  std::fill(f.at(op.x).value.begin(), f.at(op.x).value.end(), 0.0f);
  forward(op, f);
  for (const double loss : f.losses()) EXPECT_NEAR(loss, std::log(50257.0), 1e-6);
}

TEST(CrossEntropyLoss, LargeLogitsDoNotOverflow) {
  OpFixture<float> f(1, 2, 5);
  const CrossEntropy op = make_op(f, 1, 5);
  f.randomise(op);
  f.at(op.x).value = {1.0f, -1.0f};
  f.at(op.table).value = {1000, 2000, 3000, -4000, 5000};
  f.labels() = {4, 3};
  forward(op, f);
  EXPECT_EQ(f.losses(), (std::vector<double>{0, 0}));
  f.labels() = {0, 4};
  forward(op, f);
  EXPECT_EQ(f.losses(), (std::vector<double>{4000, 9000}));
}

TEST(CrossEntropyGradient, FiniteDifferences) {
  OpFixture<double> f(1, 5, 13);
  f.mask_some();
  expect_gradients(make_op(f, 6, 13), f);
}

TEST(CrossEntropyDeterminism, ThreadsAndRuns) {
  OpFixture<float> f(2, 70, 300);
  const CrossEntropy op = make_op(f, 41, 300);
  expect_reproducible(op, [&] { return f; });
  expect_nan_passes(op, [&] { return f; });
}

}  // namespace
}  // namespace wsc::kernels
