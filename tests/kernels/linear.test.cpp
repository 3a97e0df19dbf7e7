// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

template <class Real>
Linear make_op(OpFixture<Real>& f, std::int64_t in, std::int64_t out, bool bias, bool residual = false) {
  Linear op{.x = f.tensor(in), .y = f.tensor(out), .weight = f.weight(out, in), .bias = {}, .in = in, .out = out};
  if (bias) op.bias = f.weight(out, 1);
  if (residual) op.residual = f.tensor(out);
  return op;
}

template <class Real>
class LinearKernel : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LinearKernel, Reals);

TYPED_TEST(LinearKernel, SameAsReference) {
  for (const int which : {0, 1, 2, 3}) {
    for (const bool accumulate : {false, true}) {
      for (const auto& [tokens, in, out] : std::vector<std::array<std::int64_t, 3>>{{1, 8, 5}, {65, 33, 70}, {13, 128, 300}}) {
        OpFixture<TypeParam> f(2, tokens);
        expect_same_as_reference(make_op(f, in, out, which & 1, which & 2), f, accumulate);
      }
    }
  }
}

TEST(LinearGradient, FiniteDifferences) {
  OpFixture<double> f(1, 5);
  expect_gradients(make_op(f, 7, 6, true, true), f);
}

TEST(LinearDeterminism, ThreadsAndRuns) {
  OpFixture<float> f(2, 200);
  const Linear op = make_op(f, 96, 320, true, true);
  expect_reproducible(op, [&] { return f; });
  expect_nan_passes(op, [&] { return f; });
}

}  // namespace
}  // namespace wsc::kernels
