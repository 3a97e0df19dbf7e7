// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

template <class Real>
LayerNorm make_op(OpFixture<Real>& f, std::int64_t width) {
  return {.x = f.tensor(width),
          .y = f.tensor(width),
          .mean = f.tensor(1),
          .inverse_sd = f.tensor(1),
          .gain = f.weight(width, 1),
          .bias = f.weight(width, 1),
          .width = width};
}

template <class Real>
class LayerNormKernel : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LayerNormKernel, Reals);

TYPED_TEST(LayerNormKernel, SameAsReference) {
  for (const bool accumulate : {false, true}) {
    for (const auto& [tokens, width] : std::vector<std::array<std::int64_t, 2>>{{1, 8}, {65, 33}, {7, 300}}) {
      OpFixture<TypeParam> f(2, tokens);
      expect_same_as_reference(make_op(f, width), f, accumulate);
    }
  }
}

TYPED_TEST(LayerNormKernel, FarFromZeroTheVarianceStaysExact) {
  OpFixture<TypeParam> f(1, 3);
  const LayerNorm op = make_op(f, 64);
  f.randomise(op);
  for (TypeParam& x : f.at(op.x).value) x += 1000;
  reference::Data d = f.reference();
  forward(op, f);
  reference::forward(op, d);
  const double limit = std::is_same_v<TypeParam, float> ? 2e-4 : 1e-10;  // rounding of inputs near 1000
  for (std::size_t i = 0; i < d.value[op.y].data.size(); ++i) ASSERT_NEAR(f.at(op.y).value[i], d.value[op.y].data[i], limit);
}

TEST(LayerNormGradient, FiniteDifferences) {
  OpFixture<double> f(1, 4);
  expect_gradients(make_op(f, 9), f);
}

TEST(LayerNormDeterminism, ThreadsAndRuns) {
  OpFixture<float> f(2, 150);
  const LayerNorm op = make_op(f, 100);
  expect_reproducible(op, [&] { return f; });
  expect_nan_passes(op, [&] { return f; });
}

}  // namespace
}  // namespace wsc::kernels
