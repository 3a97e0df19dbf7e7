// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/gemm.hpp"

#include <algorithm>
#include <atomic>

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

std::atomic<bool> same_for_all_threads{false};

void library_product(Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Operand<float> a,
                     Operand<float> b, float beta, float* c, std::int64_t c_stride) {
  const dnnl_status_t status = dnnl_sgemm(ta == Transpose::yes ? 'T' : 'N', tb == Transpose::yes ? 'T' : 'N', m, n, k, alpha, a.data,
                                          a.stride, b.data, b.stride, beta, c, c_stride);
  WSC_ENSURE(status == dnnl_success);
}

/// Rows and columns of the blocks into which C is cut: four at least (but none below 64 × 64), of a million elements at most. The library
/// is slower on small blocks: it takes them without packing their operands.
struct Blocks {
  std::int64_t rows, columns;
};

Blocks blocks_of(std::int64_t m, std::int64_t n) {
  const auto half = [](std::int64_t x) { return ((x + 1) / 2 + 63) / 64 * 64; };
  Blocks b{m, n};
  for (std::int64_t pieces = 1; (pieces < 4 || b.rows * b.columns > 1 << 20) && std::max(b.rows, b.columns) > 64; pieces *= 2)
    (b.rows >= b.columns ? b.rows : b.columns) = half(std::max(b.rows, b.columns));
  return b;
}

/// With one thread, the library's result depends on the shape only; its division among threads changes the path that an element takes.
void product_by_blocks(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                       Operand<float> a, Operand<float> b, float beta, float* c, std::int64_t c_stride) {
  const Blocks size = blocks_of(m, n);
  const std::int64_t across = (n + size.columns - 1) / size.columns, count = (m + size.rows - 1) / size.rows * across;
  const auto block = [=](std::int64_t i) {
    const std::int64_t row = i / across * size.rows, column = i % across * size.columns;
    library_product(ta, tb, std::min(size.rows, m - row), std::min(size.columns, n - column), k, alpha,
                    {a.data + (ta == Transpose::yes ? row : row * a.stride), a.stride},
                    {b.data + (tb == Transpose::yes ? column * b.stride : column), b.stride}, beta, c + row * c_stride + column, c_stride);
  };
  const LibraryThreads threads(1);
  if (count == 1 || exec.concurrency() == 1 || omp_in_parallel() != 0) {
    for (std::int64_t i = 0; i < count; ++i) block(i);
  } else {
    Kokkos::parallel_for("wsc::kernels::gemm_blocks",
                         Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Dynamic>>(exec, 0, count, Kokkos::ChunkSize(1)), block);
    exec.fence("wsc::kernels::gemm_blocks");
  }
}

}  // namespace

void same_products_for_all_threads(bool on) { same_for_all_threads = on; }

template <>
void gemm(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Operand<float> a,
          Operand<float> b, float beta, float* c, std::int64_t c_stride) {
  WSC_EXPECT(m >= 0 && n >= 0 && k >= 0 && c_stride >= n);
  if (m == 0 || n == 0 || k == 0) {  // the library takes no empty operands
    gemm_portable(exec, ta, tb, m, n, k, alpha, a, b, beta, c, c_stride);
    return;
  }
  if (same_for_all_threads) return product_by_blocks(exec, ta, tb, m, n, k, alpha, a, b, beta, c, c_stride);
  const LibraryThreads threads(useful_threads(exec, m, n));
  library_product(ta, tb, m, n, k, alpha, a, b, beta, c, c_stride);
}

template <>
void gemm(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Operand<double> a,
          Operand<double> b, double beta, double* c, std::int64_t c_stride) {
  gemm_portable(exec, ta, tb, m, n, k, alpha, a, b, beta, c, c_stride);
}

}  // namespace wsc::kernels
