// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/gemm.hpp"

#include <algorithm>

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include "wsc/base/error.hpp"

namespace wsc::kernels {
namespace {

/// Makes the library use as many threads as the execution-space instance has; within a parallel kernel it takes one by itself.
class LibraryThreads {
 public:
  explicit LibraryThreads(int wanted) : before_(omp_get_max_threads()), differs_(wanted != before_) {
    if (differs_) omp_set_num_threads(wanted);
  }
  ~LibraryThreads() {
    if (differs_) omp_set_num_threads(before_);
  }
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;

 private:
  int before_;
  bool differs_;
};

/// The library splits the sum over k between threads where C has fewer blocks of 64 × 48 than there are threads: never let it.
int useful_threads(const Exec& exec, std::int64_t m, std::int64_t n) {
  const std::int64_t blocks = ((m + 63) / 64) * ((n + 63) / 64), threads = exec.concurrency();
  return static_cast<int>(std::min(blocks, threads));
}

}  // namespace

template <>
void gemm(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Operand<float> a,
          Operand<float> b, float beta, float* c, std::int64_t c_stride) {
  WSC_EXPECT(m >= 0 && n >= 0 && k >= 0 && c_stride >= n);
  if (m == 0 || n == 0 || k == 0) {  // the library takes no empty operands
    gemm_portable(exec, ta, tb, m, n, k, alpha, a, b, beta, c, c_stride);
    return;
  }
  const LibraryThreads threads(useful_threads(exec, m, n));
  const dnnl_status_t status = dnnl_sgemm(ta == Transpose::yes ? 'T' : 'N', tb == Transpose::yes ? 'T' : 'N', m, n, k, alpha, a.data,
                                          a.stride, b.data, b.stride, beta, c, c_stride);
  WSC_ENSURE(status == dnnl_success);
}

template <>
void gemm(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Operand<double> a,
          Operand<double> b, double beta, double* c, std::int64_t c_stride) {
  gemm_portable(exec, ta, tb, m, n, k, alpha, a, b, beta, c, c_stride);
}

}  // namespace wsc::kernels
