// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/gemm.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/kernels/op_checks.hpp"
#include <gtest/gtest.h>

namespace wsc::kernels {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A product with its own storage; what lies between rows and behind them must stay as it is.
template <class Real>
struct Product {
  Transpose ta, tb;
  std::int64_t m, n, k, a_stride, b_stride, c_stride;
  std::vector<Real> a, b, c;

  Product(Transpose ta_, Transpose tb_, std::int64_t m_, std::int64_t n_, std::int64_t k_, std::int64_t extra = 0)
      : ta(ta_), tb(tb_), m(m_), n(n_), k(k_) {
    a_stride = (ta == Transpose::yes ? m : k) + extra;
    b_stride = (tb == Transpose::yes ? k : n) + 2 * extra;
    c_stride = n + 3 * extra;
    a = random(a_stride * (ta == Transpose::yes ? k : m), 1);
    b = random(b_stride * (tb == Transpose::yes ? n : k), 2);
    c = random(c_stride * m, 3);
  }

  static std::vector<Real> random(std::int64_t size, std::uint64_t step) {
    const RandomKey key(1, "test", "gemm", step);
    std::vector<Real> v(size);
    for (std::int64_t i = 0; i < size; ++i) v[i] = static_cast<Real>(key.normal(0, i));
    return v;
  }

  std::vector<double> expected(double alpha, double beta) const {
    std::vector<double> out(c.begin(), c.end());
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += double(ta == Transpose::yes ? a[p * a_stride + i] : a[i * a_stride + p]) *
                 (tb == Transpose::yes ? b[j * b_stride + p] : b[p * b_stride + j]);
        double& to = out[i * c_stride + j];
        to = alpha * sum + (beta == 0 ? 0 : beta * to);
      }
    }
    return out;
  }
};

template <class Real>
class Gemm : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Gemm, Reals);

template <class Real>
void check(bool portable, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t extra, Real alpha,
           Real beta) {
  Product<Real> p(ta, tb, m, n, k, extra);
  if (beta == 0) {
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(p.c.begin() + i * p.c_stride, n, static_cast<Real>(nan));
  }
  const std::vector<double> want = p.expected(alpha, beta);
  const auto f = portable ? gemm_portable<Real> : gemm<Real>;
  f(Exec(), ta, tb, m, n, k, alpha, {p.a.data(), p.a_stride}, {p.b.data(), p.b_stride}, beta, p.c.data(), p.c_stride);
  expect_near(p.c, want, "m n k = " + std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k));
}

TYPED_TEST(Gemm, AllTransposesOddSizesAndStrides) {
  for (const bool portable : {false, true}) {
    for (const Transpose ta : {Transpose::no, Transpose::yes}) {
      for (const Transpose tb : {Transpose::no, Transpose::yes}) {
        for (const auto& [m, n, k] :
             std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {3, 5, 7}, {64, 65, 8}, {130, 33, 257}, {1, 300, 40}, {300, 1, 40}}) {
          check<TypeParam>(portable, ta, tb, m, n, k, 0, 1, 0);
          check<TypeParam>(portable, ta, tb, m, n, k, 3, TypeParam(0.5), 1);
          check<TypeParam>(portable, ta, tb, m, n, k, 1, TypeParam(-2), TypeParam(0.25));
        }
      }
    }
  }
}

// Large enough to be cut into pieces that threads share.
TYPED_TEST(Gemm, LargeProducts) {
  for (const Transpose ta : {Transpose::no, Transpose::yes}) {
    for (const Transpose tb : {Transpose::no, Transpose::yes}) {
      check<TypeParam>(false, ta, tb, 515, 261, 300, 5, 1, 0);
      check<TypeParam>(false, ta, tb, 130, 1030, 300, 0, 1, 1);
      check<TypeParam>(false, ta, tb, 1030, 130, 300, 0, 1, 1);
    }
  }
}

TYPED_TEST(Gemm, EmptyProducts) {
  std::vector<TypeParam> c(4, 7);
  gemm<TypeParam>(Exec(), Transpose::no, Transpose::no, 0, 2, 2, 1, {nullptr, 2}, {nullptr, 2}, 0, c.data(), 2);
  EXPECT_EQ(c, std::vector<TypeParam>(4, 7));
  gemm<TypeParam>(Exec(), Transpose::no, Transpose::no, 2, 2, 0, 1, {nullptr, 1}, {nullptr, 2}, 1, c.data(), 2);
  EXPECT_EQ(c, std::vector<TypeParam>(4, 7));
  gemm<TypeParam>(Exec(), Transpose::no, Transpose::no, 2, 2, 0, 1, {nullptr, 1}, {nullptr, 2}, 0, c.data(), 2);
  EXPECT_EQ(c, std::vector<TypeParam>(4, 0));
}

TYPED_TEST(Gemm, NanInAnOperandReachesItsRowAndColumn) {
  Product<TypeParam> p(Transpose::no, Transpose::yes, 70, 50, 40);
  p.a[3 * p.a_stride + 5] = static_cast<TypeParam>(nan);
  gemm<TypeParam>(Exec(), p.ta, p.tb, p.m, p.n, p.k, 1, {p.a.data(), p.a_stride}, {p.b.data(), p.b_stride}, 0, p.c.data(), p.c_stride);
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) ASSERT_EQ(std::isnan(p.c[i * p.c_stride + j]), i == 3) << i << " " << j;
}

TYPED_TEST(Gemm, SameBitsWithOneThreadAndTwo) {
  for (const auto& [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{1024, 768, 768}, {256, 1536, 512}, {1000, 130, 70}, {64, 64, 3000}}) {
    for (const Transpose ta : {Transpose::no, Transpose::yes}) {
      std::vector<std::vector<TypeParam>> results;
      for (const int threads : {1, 2, 2}) {
        Product<TypeParam> p(ta, Transpose::yes, m, n, k);
        gemm<TypeParam>(exec_of(threads), p.ta, p.tb, m, n, k, 1, {p.a.data(), p.a_stride}, {p.b.data(), p.b_stride}, 1, p.c.data(),
                        p.c_stride);
        results.push_back(p.c);
      }
      for (const auto& r : results) EXPECT_EQ(std::memcmp(r.data(), results[0].data(), r.size() * sizeof(TypeParam)), 0) << m << " " << n;
    }
  }
}

// With it, shapes at which the library takes another path for another number of threads have the same bits for all.
TEST(GemmByBlocks, SameBitsForEveryNumberOfThreads) {
  same_products_for_all_threads(true);
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {300, 1, 384}, {1000, 16, 128}, {130, 128, 768}, {64, 1000, 48}, {257, 768, 8}, {1, 96, 512}, {3000, 500, 30}, {65, 70, 33}}) {
    for (const Transpose ta : {Transpose::no, Transpose::yes}) {
      for (const Transpose tb : {Transpose::no, Transpose::yes}) {
        std::vector<std::vector<float>> results;
        for (const int threads : {1, 2}) {
          Product<float> p(ta, tb, m, n, k, 3);
          const std::vector<double> want = p.expected(0.5F, 1.0F);
          gemm<float>(exec_of(threads), ta, tb, m, n, k, 0.5F, {p.a.data(), p.a_stride}, {p.b.data(), p.b_stride}, 1, p.c.data(),
                      p.c_stride);
          if (threads == 1) expect_near(p.c, want, "blocks");
          results.push_back(p.c);
        }
        for (const auto& r : results) EXPECT_EQ(std::memcmp(r.data(), results[0].data(), r.size() * sizeof(float)), 0) << m << " " << n;
      }
    }
  }
  same_products_for_all_threads(false);
}

TYPED_TEST(Gemm, InsideAParallelKernelRunsOnTheCallingThread) {
  Product<TypeParam> p(Transpose::no, Transpose::no, 65, 70, 33);
  const std::vector<double> want = p.expected(1, 0);
  std::vector<std::vector<TypeParam>> c(4, p.c);
  Kokkos::parallel_for("wsc::test::nested", Kokkos::RangePolicy<Exec>(Exec(), 0, 4), [&](int i) {
    gemm<TypeParam>(Exec(), p.ta, p.tb, p.m, p.n, p.k, 1, {p.a.data(), p.a_stride}, {p.b.data(), p.b_stride}, 0, c[i].data(), p.c_stride);
  });
  for (const auto& v : c) expect_near(v, want, "nested");
}

}  // namespace
}  // namespace wsc::kernels
