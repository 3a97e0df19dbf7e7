// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

template <class Real>
Dropout make_op(OpFixture<Real>& f, std::int64_t width, double rate = 0.3) {
  return {.x = f.tensor(width), .y = f.tensor(width), .rate = rate, .width = width, .name = "layers/0/dropout"};
}

template <class Real>
class DropoutKernel : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(DropoutKernel, Reals);

TYPED_TEST(DropoutKernel, SameAsReference) {
  for (const bool training : {false, true}) {
    for (const bool accumulate : {false, true}) {
      for (const auto& [tokens, width] : std::vector<std::array<std::int64_t, 2>>{{1, 8}, {65, 33}, {5, 1030}, {7, 1}}) {
        OpFixture<TypeParam> f(2, tokens);
        f.training = training;
        expect_same_as_reference(make_op(f, width), f, accumulate);
      }
    }
  }
}

TYPED_TEST(DropoutKernel, KeepsTheMeanAndDropsTheShare) {
  OpFixture<TypeParam> f(4, 100);
  const Dropout op = make_op(f, 100, 0.25);
  f.randomise(op);
  std::fill(f.at(op.x).value.begin(), f.at(op.x).value.end(), TypeParam(1));
  forward(op, f);
  double sum = 0;
  for (const TypeParam y : f.at(op.y).value) sum += y;
  EXPECT_NEAR(sum / 40000, 1, 4 * std::sqrt(0.25 / 0.75 / 40000));
}

TEST(DropoutGradient, FiniteDifferences) {
  OpFixture<double> f(1, 5);
  expect_gradients(make_op(f, 9), f);
}

TEST(DropoutKey, DependsOnNameStepAndSample) {
  const auto dropped = [](const std::string& name, std::uint64_t step) {
    OpFixture<float> f(2, 10);
    Dropout op = make_op(f, 20);
    op.name = name;
    f.step = step;
    f.randomise(op);
    std::fill(f.at(op.x).value.begin(), f.at(op.x).value.end(), 1.0f);
    forward(op, f);
    return f.at(op.y).value;
  };
  const std::vector<float> base = dropped("a", 1);
  EXPECT_EQ(base, dropped("a", 1));
  EXPECT_NE(base, dropped("b", 1));
  EXPECT_NE(base, dropped("a", 2));
  EXPECT_NE(std::vector<float>(base.begin(), base.begin() + 200), std::vector<float>(base.begin() + 200, base.end()));
}

TEST(DropoutDeterminism, ThreadsAndRuns) {
  OpFixture<float> f(2, 70);
  const Dropout op = make_op(f, 41);
  expect_reproducible(op, [&] { return f; });
  expect_nan_passes(op, [&] { return f; });
}

}  // namespace
}  // namespace wsc::kernels
