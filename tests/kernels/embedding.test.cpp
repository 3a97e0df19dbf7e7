// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_checks.hpp"

namespace wsc::kernels {
namespace {

constexpr std::int64_t vocab = 11;

template <class Real>
Embedding make_embedding(OpFixture<Real>& f, std::int64_t width) {
  return {.y = f.tensor(width), .table = f.weight(vocab, width), .width = width};
}

template <class Real>
Positions make_positions(OpFixture<Real>& f, std::int64_t width, std::int64_t tokens, bool learned) {
  Positions op{.x = f.tensor(width), .y = f.tensor(width), .table = {}, .width = width};
  if (learned) op.table = f.weight(tokens, width);
  return op;
}

template <class Real>
class EmbeddingKernel : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(EmbeddingKernel, Reals);

// 130 rows over 11 tokens: rows of the table's gradient are met many times.
TYPED_TEST(EmbeddingKernel, SameAsReference) {
  for (const auto& [tokens, width] : std::vector<std::array<std::int64_t, 2>>{{1, 8}, {65, 33}}) {
    OpFixture<TypeParam> f(2, tokens, vocab);
    expect_same_as_reference(make_embedding(f, width), f, false);
  }
}

TYPED_TEST(EmbeddingKernel, PositionsSameAsReference) {
  for (const bool learned : {false, true}) {
    for (const bool accumulate : {false, true}) {
      for (const bool packed : {false, true}) {
        for (const auto& [tokens, width] : std::vector<std::array<std::int64_t, 2>>{{1, 8}, {65, 33}}) {
          OpFixture<TypeParam> f(2, tokens);
          if (packed) f.pack({20, 7});
          expect_same_as_reference(make_positions(f, width, tokens, learned), f, accumulate);
        }
      }
    }
  }
}

TEST(EmbeddingGradient, FiniteDifferences) {
  OpFixture<double> f(1, 9, vocab);
  expect_gradients(make_embedding(f, 6), f);
  OpFixture<double> g(2, 5);
  expect_gradients(make_positions(g, 6, 5, true), g);
  OpFixture<double> h(2, 5);
  expect_gradients(make_positions(h, 6, 5, false), h);
}

TEST(EmbeddingDeterminism, ThreadsAndRuns) {
  OpFixture<float> f(3, 100, vocab);
  const Embedding op = make_embedding(f, 70);
  expect_reproducible(op, [&] { return f; });
  OpFixture<float> g(3, 100);
  const Positions positions = make_positions(g, 70, 100, true);
  expect_reproducible(positions, [&] { return g; });
  expect_nan_passes(positions, [&] { return g; });
}

}  // namespace
}  // namespace wsc::kernels
