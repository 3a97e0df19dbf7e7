// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/op_checks.hpp"

#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/gemm.hpp"

// Kernels on activations of 16 bits: against the reference in double that starts from the same rounded numbers.
namespace wsc::kernels {
namespace {

template <class Format>
class Rounded : public testing::Test {};
using Formats = testing::Types<bfloat16, float16, cbfloat16>;
TYPED_TEST_SUITE(Rounded, Formats);

/// Every op on rows of `width`, with the loss scale that keeps gradients of the head in the range of every format.
template <class Real, class Check>
void for_every_op(std::int64_t tokens, std::int64_t width, std::int64_t vocab, const Check& check) {
  const auto with = [&](const auto& make) {
    OpFixture<Real> f(2, tokens, vocab);
    f.gradient_scale = 0.5;
    const auto op = make(f);
    check(op, f);
  };
  const auto in = [&](auto& f) { return f.tensor(width); };
  with([&](auto& f) { return Embedding{in(f), f.weight(vocab, width), width}; });
  with([&](auto& f) { return Positions{in(f), in(f), f.weight(tokens, width), width}; });
  with([&](auto& f) { return Positions{in(f), in(f), {}, width}; });
  with([&](auto& f) { return Dropout{in(f), in(f), 0.25, width, "dropout"}; });
  with([&](auto& f) { return Dropout{in(f), in(f), 0, width, "identity"}; });
  with([&](auto& f) { return LayerNorm{in(f), in(f), f.tensor(1), f.tensor(1), f.weight(width, 1), f.weight(width, 1), width}; });
  for (const bool whole : {false, true})
    with([&](auto& f) {
      return Linear{
          in(f), f.tensor(70), f.weight(70, width), whole ? f.weight(70, 1) : WeightId(), width, 70, whole ? f.tensor(70) : TensorId()};
    });
  for (const double dropout : {0.0, 0.2})
    with([&](auto& f) { return Attention{f.tensor(3 * width), in(f), f.tensor(2), width, 2, dropout, "attention"}; });
  for (const Nonlinearity function : {Nonlinearity::gelu, Nonlinearity::gelu_tanh, Nonlinearity::relu})
    with([&](auto& f) { return Activation{in(f), in(f), f.weight(width, 1), function, width}; });
  with([&](auto& f) { return Add{in(f), in(f), in(f), width}; });
  with([&](auto& f) { return CrossEntropy{in(f), f.tensor(vocab), f.weight(vocab, width), width, vocab}; });
}

TYPED_TEST(Rounded, EveryOpSameAsReference) {
  for (const bool accumulate : {false, true})
    for (const auto& [tokens, width, vocab] : std::vector<std::array<std::int64_t, 3>>{{1, 8, 3}, {65, 34, 257}, {130, 16, 90}})
      for_every_op<TypeParam>(tokens, width, vocab, [&](const auto& op, auto& f) {
        SCOPED_TRACE(op_name(op) + (accumulate ? ", adds, " : ", ") + std::to_string(tokens) + " tokens");
        expect_same_as_reference(op, f, accumulate);
      });
}

TYPED_TEST(Rounded, AttentionWithSpans) {
  for (const bool accumulate : {false, true}) {
    OpFixture<TypeParam> f(2, 150);
    f.pack({20, 70, 3});
    const Attention op{f.tensor(96), f.tensor(32), f.tensor(2), 32, 2, 0, "attention"};
    expect_same_as_reference(op, f, accumulate);
  }
}

TYPED_TEST(Rounded, ThreadsAndRuns) {
  for_every_op<TypeParam>(70, 34, 90, [&](const auto& op, auto& f) { expect_reproducible(op, [&] { return f; }); });
}

/// Operands of 16 bits with gaps between their rows, and what a product makes of them.
template <class Real>
struct RoundedOperands {
  Transpose ta, tb;
  std::int64_t m, n, k, a_stride, b_stride;
  std::vector<Real> a, b, residual, bias;
  std::vector<float> workspace;

  RoundedOperands(Transpose ta_, Transpose tb_, std::int64_t m_, std::int64_t n_, std::int64_t k_)
      : ta(ta_), tb(tb_), m(m_), n(n_), k(k_), a_stride((ta == Transpose::yes ? m : k) + 3), b_stride((tb == Transpose::yes ? k : n) + 5) {
    const auto draw = [](std::int64_t size, std::uint64_t step) {
      const RandomKey key(1, "test", "rounded", step);
      std::vector<Real> v(size);
      for (std::int64_t i = 0; i < size; ++i) v[i] = number<Real>(key.normal(0, i));
      return v;
    };
    a = draw(a_stride * (ta == Transpose::yes ? k : m), 1);
    b = draw(b_stride * (tb == Transpose::yes ? n : k), 2);
    residual = draw(m * n, 3);
    bias = draw(n, 4);
    workspace.assign(product_workspace(m, n, k), std::numeric_limits<float>::quiet_NaN());
  }

  /// Σ op(A) op(B) of one element, and the sum of the magnitudes of its terms.
  std::pair<double, double> element(std::int64_t i, std::int64_t j) const {
    double sum = 0, size = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      const double term = double{load(ta == Transpose::yes ? a[p * a_stride + i] : a[i * a_stride + p])} *
                          load(tb == Transpose::yes ? b[j * b_stride + p] : b[p * b_stride + j]);
      sum += term, size += std::fabs(term);
    }
    return {sum, size};
  }
};

// Operands are converted exactly and sums are fp32: the error is that of an fp32 product. Shapes beyond one block in every direction.
TYPED_TEST(Rounded, ProductsAddUpInFp32AndRoundOnce) {
  constexpr double half_unit = 1.0 / (2 << TypeParam::mantissa_bits);
  for (const Transpose ta : {Transpose::no, Transpose::yes})
    for (const Transpose tb : {Transpose::no, Transpose::yes})
      for (const auto& [m, n, k] :
           std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {33, 70, 129}, {1030, 40, 30}, {20, 1500, 33}, {5, 6, 2100}}) {
        RoundedOperands<TypeParam> p(ta, tb, m, n, k);
        const Vector<float> workspace(p.workspace.data(), p.workspace.size());
        std::vector<float> sums(m * n, 1.0f);
        std::vector<TypeParam> c(m * n);
        add_product<TypeParam>(Exec(), ta, tb, m, n, k, {p.a.data(), p.a_stride}, {p.b.data(), p.b_stride}, sums.data(), n, workspace);
        product<TypeParam>(Exec(), ta, tb, m, n, k, {p.a.data(), p.a_stride}, {p.b.data(), p.b_stride},
                           {p.residual.data(), n, p.bias.data()}, c.data(), n, workspace);
        for (std::int64_t i = 0; i < m; i += 7)
          for (std::int64_t j = 0; j < n; j += 5) {
            const auto [sum, size] = p.element(i, j);
            const double fp32 = 6e-8 * std::sqrt(static_cast<double>(k)) * (size + 4);
            ASSERT_NEAR(sums[i * n + j], sum + 1, fp32) << m << " " << n << " " << k;
            const double want = sum + load(p.residual[i * n + j]) + load(p.bias[j]);
            ASSERT_NEAR(load(c[i * n + j]), want, half_unit * std::fabs(want) + 2 * fp32) << m << " " << n << " " << k;
          }
      }
}

// The addend may be the result itself.
TYPED_TEST(Rounded, ProductsAddToWhatIsThere) {
  RoundedOperands<TypeParam> p(Transpose::no, Transpose::no, 40, 50, 60);
  const Vector<float> workspace(p.workspace.data(), p.workspace.size());
  std::vector<TypeParam> apart(40 * 50), c = p.residual;
  const auto make = [&](const TypeParam* addend, TypeParam* to) {
    product<TypeParam>(Exec(), p.ta, p.tb, 40, 50, 60, {p.a.data(), p.a_stride}, {p.b.data(), p.b_stride}, {addend, 50}, to, 50, workspace);
  };
  make(p.residual.data(), apart.data());
  make(c.data(), c.data());
  EXPECT_EQ(widened(c), widened(apart));
}

TYPED_TEST(Rounded, OverflowBecomesInfinityAndIsPassedOn) {
  OpFixture<TypeParam> f(1, 3);
  const Linear op{f.tensor(4), f.tensor(2), f.weight(2, 4), {}, 4, 2};
  f.randomise(op);
  TypeParam most;
  most.bits = TypeParam::infinity - 1;
  std::fill(f.at(op.x).value.begin(), f.at(op.x).value.end(), most);
  std::fill(f.at(op.weight).value.begin(), f.at(op.weight).value.end(), TypeParam(1.0f));
  forward(op, f);
  for (const double y : f.output(op.y)) EXPECT_TRUE(std::isinf(y));
}

}  // namespace
}  // namespace wsc::kernels
