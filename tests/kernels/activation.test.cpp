// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

constexpr Nonlinearity all[] = {Nonlinearity::gelu, Nonlinearity::gelu_tanh, Nonlinearity::relu};

template <class Real>
Activation make_op(OpFixture<Real>& f, std::int64_t width, Nonlinearity function) {
  return {.x = f.tensor(width), .y = f.tensor(width), .bias = f.weight(width, 1), .function = function, .width = width};
}

template <class Real>
class ActivationKernel : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(ActivationKernel, Reals);

TYPED_TEST(ActivationKernel, SameAsReference) {
  for (const Nonlinearity function : all) {
    for (const bool accumulate : {false, true}) {
      for (const auto& [tokens, width] : std::vector<std::array<std::int64_t, 2>>{{1, 8}, {65, 33}, {9, 700}}) {
        OpFixture<TypeParam> f(2, tokens);
        expect_same_as_reference(make_op(f, width, function), f, accumulate);
      }
    }
  }
}

// Every value and slope on a fine grid to the rounding of the result's own type.
TYPED_TEST(ActivationKernel, AccurateOverTheWholeRange) {
  const double limit = std::is_same_v<TypeParam, float> ? 3e-7 : 1e-14;
  for (const Nonlinearity function : all) {
    OpFixture<TypeParam> f(1, 1000);
    const Activation op = make_op(f, 31, function);
    f.randomise(op);
    auto& x = f.at(op.x).value;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<TypeParam>(-15.5 + 31.0 * (i + 0.5) / x.size());
    std::fill(f.at(op.bias).value.begin(), f.at(op.bias).value.end(), TypeParam(0));
    std::fill(f.at(op.y).gradient.begin(), f.at(op.y).gradient.end(), TypeParam(1));
    forward(op, f);
    backward(op, f);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double scale = std::max(1.0, std::fabs(static_cast<double>(x[i])));
      ASSERT_NEAR(f.at(op.y).value[i], reference::activation(function, x[i]), limit * scale) << "x = " << x[i];
      ASSERT_NEAR(f.at(op.x).gradient[i], reference::activation_derivative(function, x[i]), limit * scale) << "x = " << x[i];
    }
  }
}

TEST(ActivationGradient, FiniteDifferences) {
  for (const Nonlinearity function : all) {
    OpFixture<double> f(1, 5);
    expect_gradients(make_op(f, 9, function), f);
  }
}

TEST(ActivationDeterminism, ThreadsAndRuns) {
  for (const Nonlinearity function : all) {
    OpFixture<float> f(2, 77);
    const Activation op = make_op(f, 50, function);
    expect_reproducible(op, [&] { return f; });
    expect_nan_passes(op, [&] { return f; });
  }
}

}  // namespace
}  // namespace wsc::kernels
