// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/gemm.hpp"

#include <atomic>

#include "library_threads.hpp"
#include <oneapi/dnnl/dnnl.h>

#include "wsc/base/error.hpp"

namespace wsc::kernels {
namespace {

std::atomic<bool> same_for_all_threads{false};

void library_product(Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Operand<float> a,
                     Operand<float> b, float beta, float* c, std::int64_t c_stride) {
  const dnnl_status_t status = dnnl_sgemm(ta == Transpose::yes ? 'T' : 'N', tb == Transpose::yes ? 'T' : 'N', m, n, k, alpha, a.data,
                                          a.stride, b.data, b.stride, beta, c, c_stride);
  WSC_ENSURE(status == dnnl_success);
}

}  // namespace

void same_products_for_all_threads(bool on) { same_for_all_threads = on; }
bool same_products_for_all_threads() { return same_for_all_threads; }

template <>
void gemm(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Operand<float> a,
          Operand<float> b, float beta, float* c, std::int64_t c_stride) {
  WSC_EXPECT(m >= 0 && n >= 0 && k >= 0 && c_stride >= n);
  if (m == 0 || n == 0 || k == 0) {  // the library takes no empty operands
    gemm_portable(exec, ta, tb, m, n, k, alpha, a, b, beta, c, c_stride);
    return;
  }
  with_library_threads(exec, m, n, [=](const Block& block) {
    library_product(ta, tb, block.rows, block.columns, k, alpha, {a.data + offset(ta, block.i, 0, a.stride), a.stride},
                    {b.data + offset(tb, 0, block.j, b.stride), b.stride}, beta, c + block.i * c_stride + block.j, c_stride);
  });
}

template <>
void gemm(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Operand<double> a,
          Operand<double> b, double beta, double* c, std::int64_t c_stride) {
  gemm_portable(exec, ta, tb, m, n, k, alpha, a, b, beta, c, c_stride);
}

}  // namespace wsc::kernels
