// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <omp.h>

#include "wsc/kernels/gemm.hpp"

/// How the products of the library are divided among threads.
namespace wsc::kernels {

bool same_products_for_all_threads();

/// A part of the result of a product: rows [i, i + rows), columns [j, j + columns).
struct Block {
  std::int64_t i, rows, j, columns;
};

/// Where the element (row, column) of op(X) lies in X.
inline std::int64_t offset(Transpose t, std::int64_t row, std::int64_t column, std::int64_t stride) {
  return t == Transpose::yes ? column * stride + row : row * stride + column;
}

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
inline int useful_threads(const Exec& exec, std::int64_t m, std::int64_t n) {
  const std::int64_t blocks = ((m + 63) / 64) * ((n + 63) / 64), threads = exec.concurrency();
  return static_cast<int>(std::min(blocks, threads));
}

/// Rows and columns of the blocks into which a result is cut: four at least (but none below 64 × 64), of a million elements at most. The
/// library is slower on small blocks: it takes them without packing their operands.
struct BlockSize {
  std::int64_t rows, columns;
};

inline BlockSize block_size(std::int64_t m, std::int64_t n) {
  const auto half = [](std::int64_t x) { return ((x + 1) / 2 + 63) / 64 * 64; };
  BlockSize b{m, n};
  for (std::int64_t pieces = 1; (pieces < 4 || b.rows * b.columns > 1 << 20) && std::max(b.rows, b.columns) > 64; pieces *= 2)
    (b.rows >= b.columns ? b.rows : b.columns) = half(std::max(b.rows, b.columns));
  return b;
}

/// Calls make(block) on the whole result, with the threads that the library may divide it among; or, where results must not depend on them,
/// on parts. With one thread the library's result depends on the shape only; its division among threads changes the path that an element
/// takes.
template <class Make>
void with_library_threads(const Exec& exec, std::int64_t m, std::int64_t n, const Make& make) {
  if (!same_products_for_all_threads()) {
    const LibraryThreads threads(useful_threads(exec, m, n));
    return make(Block{0, m, 0, n});
  }
  const BlockSize size = block_size(m, n);
  const std::int64_t across = (n + size.columns - 1) / size.columns, count = (m + size.rows - 1) / size.rows * across;
  const auto block = [=](std::int64_t b) {
    const std::int64_t i = b / across * size.rows, j = b % across * size.columns;
    make(Block{i, std::min(size.rows, m - i), j, std::min(size.columns, n - j)});
  };
  const LibraryThreads threads(1);
  if (count == 1 || exec.concurrency() == 1 || omp_in_parallel() != 0) {
    for (std::int64_t b = 0; b < count; ++b) block(b);
  } else {
    Kokkos::parallel_for("wsc::kernels::gemm_blocks",
                         Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Dynamic>>(exec, 0, count, Kokkos::ChunkSize(1)), block);
    exec.fence("wsc::kernels::gemm_blocks");
  }
}

}  // namespace wsc::kernels
