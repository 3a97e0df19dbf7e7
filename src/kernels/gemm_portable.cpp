// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include "wsc/base/error.hpp"
#include "wsc/kernels/gemm.hpp"

namespace wsc::kernels {
namespace {

/// One row of C, `block` columns at a time so that the partial row stays in the L1 cache. (n)
template <class Real>
struct RowTimesMatrix {
  bool transpose_a, transpose_b;
  std::int64_t n, k;
  Real alpha, beta;
  Operand<Real> a, b;
  Real* c;
  std::int64_t c_stride;

  static constexpr std::int64_t block = 128;

  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    for (std::int64_t j0 = 0; j0 < n; j0 += block) columns(row, j0, n - j0 < block ? n - j0 : block);
  }

  KOKKOS_FUNCTION void columns(std::int64_t row, std::int64_t j0, std::int64_t count) const {
    Real sum[block] = {};
    const Real* const a_row = transpose_a ? a.data + row : a.data + row * a.stride;
    const std::int64_t a_step = transpose_a ? a.stride : 1;
    if (transpose_b) {
      for (std::int64_t j = 0; j < count; ++j) {
        const Real* const b_row = b.data + (j0 + j) * b.stride;
        Real s = 0;
#pragma omp simd reduction(+ : s)
        for (std::int64_t p = 0; p < k; ++p) s += a_row[p * a_step] * b_row[p];
        sum[j] = s;
      }
    } else {
      for (std::int64_t p = 0; p < k; ++p) {
        const Real x = a_row[p * a_step];
        const Real* const b_row = b.data + p * b.stride + j0;
#pragma omp simd
        for (std::int64_t j = 0; j < count; ++j) sum[j] += x * b_row[j];
      }
    }
    Real* const out = c + row * c_stride + j0;
    if (beta == Real{0}) {
      for (std::int64_t j = 0; j < count; ++j) out[j] = alpha * sum[j];  // never reads C, which may hold anything
    } else {
      for (std::int64_t j = 0; j < count; ++j) out[j] = alpha * sum[j] + beta * out[j];
    }
  }
};

}  // namespace

template <class Real>
void gemm_portable(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Real alpha,
                   Operand<Real> a, Operand<Real> b, Real beta, Real* c, std::int64_t c_stride) {
  WSC_EXPECT(m >= 0 && n >= 0 && k >= 0 && c_stride >= n);
  const RowTimesMatrix<Real> body{ta == Transpose::yes, tb == Transpose::yes, n, k, alpha, beta, a, b, c, c_stride};
  if (omp_in_parallel()) {
    for (std::int64_t row = 0; row < m; ++row) body(row);
  } else {
    Kokkos::parallel_for("wsc::kernels::gemm_portable", Kokkos::RangePolicy<Exec>(exec, 0, m), body);
  }
}

template void gemm_portable(const Exec&, Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, float, Operand<float>,
                            Operand<float>, float, float*, std::int64_t);
template void gemm_portable(const Exec&, Transpose, Transpose, std::int64_t, std::int64_t, std::int64_t, double, Operand<double>,
                            Operand<double>, double, double*, std::int64_t);

}  // namespace wsc::kernels
