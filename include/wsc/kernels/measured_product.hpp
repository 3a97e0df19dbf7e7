// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

#include "wsc/base/precision.hpp"
#include "wsc/kernels/gemm.hpp"

namespace wsc::kernels {

/// A matrix product as product() takes it: op(A): (m, k), op(B): (k, n), C: (m, n). With op(A) = Aᵀ a weight gradient, as add_product()
/// makes it.
struct Product {
  Transpose ta, tb;
  std::int64_t m, n, k;
  bool adds;  ///< to C
  auto operator<=>(const Product&) const = default;

  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

/// Seconds of one product alone in this format, on all threads, median of `runs` after one that warms up.
double product_s(const Product& product, int runs, Precision compute = Precision::fp32);

/// FLOPs in a second of the three products of a linear op (forward, gradients of input and weights) on `rows` rows, each alone, the
/// fastest of five: what the machine can do, whatever else runs on it. Large ones are measured on a part of them, so that it takes some
/// tenths of a second at most.
double linear_flops_per_s(std::int64_t rows, std::int64_t in, std::int64_t out);

}  // namespace wsc::kernels
