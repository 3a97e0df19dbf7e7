// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/elementwise.hpp"

#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

template <class Real>
class Elementwise : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Elementwise, Reals);

template <class Real>
std::vector<Real> ramp(std::int64_t n) {
  std::vector<Real> v(n);
  for (std::int64_t i = 0; i < n; ++i) v[i] = static_cast<Real>(i % 97) - 40;
  return v;
}

TYPED_TEST(Elementwise, FillCopyAddScale) {
  for (const std::int64_t n : {0, 1, 2047, 2048, 5001}) {
    std::vector<TypeParam> x(n, 1), from = ramp<TypeParam>(n);
    const Vector<TypeParam> view(x.data(), n);
    fill(Exec(), view, TypeParam(3));
    EXPECT_EQ(x, std::vector<TypeParam>(n, 3));
    copy<TypeParam>(Exec(), view, Vector<const TypeParam>(from.data(), n));
    EXPECT_EQ(x, from);
    add<TypeParam>(Exec(), view, Vector<const TypeParam>(from.data(), n));
    scale(Exec(), view, TypeParam(0.5));
    EXPECT_EQ(x, from);
  }
}

TYPED_TEST(Elementwise, SumsOfRowsAndColumns) {
  const std::int64_t rows = 131, columns = 45;
  std::vector<TypeParam> m = ramp<TypeParam>(rows * columns), columns_sum(columns, 10);
  std::vector<double> squares(rows, -1);
  const Matrix<const TypeParam> view(m.data(), rows, columns);
  row_sums_of_squares<TypeParam>(Exec(), view, Vector<double>(squares.data(), rows));
  std::vector<TypeParam> workspace(column_sum_workspace(view.extent(0), view.extent(1)));
  add_column_sums<TypeParam>(Exec(), view, Vector<TypeParam>(workspace.data(), workspace.size()), columns_sum.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    double want = 0;
    for (std::int64_t c = 0; c < columns; ++c) want += m[r * columns + c] * m[r * columns + c];
    EXPECT_EQ(squares[r], want);  // whole numbers: exact
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    double want = 10;
    for (std::int64_t r = 0; r < rows; ++r) want += m[r * columns + c];
    EXPECT_EQ(columns_sum[c], want);
  }
}

template <class Real>
Add make_add(OpFixture<Real>& f, std::int64_t width) {
  return {.a = f.tensor(width), .b = f.tensor(width), .y = f.tensor(width), .width = width};
}

TYPED_TEST(Elementwise, AddSameAsReference) {
  for (const bool accumulate : {false, true}) {
    OpFixture<TypeParam> f(3, 65);
    expect_same_as_reference(make_add(f, 33), f, accumulate);
  }
}

TEST(AddGradient, FiniteDifferences) {
  OpFixture<double> f(1, 5);
  expect_gradients(make_add(f, 8), f);
}

TEST(AddGradient, BothInputsMayBeOneTensor) {
  OpFixture<float> f(1, 4);
  Add op = make_add(f, 3);
  op.b = op.a;
  f.randomise(op, true);
  const std::vector<float> before = f.at(op.a).gradient;
  backward(op, f);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_FLOAT_EQ(f.at(op.a).gradient[i], before[i] + 2 * f.at(op.y).gradient[i]);
}

TEST(AddDeterminism, ThreadsAndRuns) {
  OpFixture<float> f(2, 70);
  const Add op = make_add(f, 40);
  expect_reproducible(op, [&] { return f; });
  expect_nan_passes(op, [&] { return f; });
}

}  // namespace
}  // namespace wsc::kernels
