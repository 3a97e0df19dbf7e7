// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "wsc/cli/command.hpp"
#include "wsc/kernels/gemm.hpp"

namespace wsc::cli {

/// `wsc bench step`: training steps of a deck in one process, the time of every kind of op in it, and beside it the GEMM bound, the sum
/// of the times of the step's own GEMMs, each measured alone.
ExitCode bench_step(Arguments arguments);

double median(std::vector<double> values);

/// A matrix product as kernels::gemm takes it: op(A): (m, k), op(B): (k, n), C: (m, n).
struct Product {
  kernels::Transpose ta, tb;
  std::int64_t m, n, k;
  bool adds;  ///< to C
  auto operator<=>(const Product&) const = default;

  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};
/// Seconds of one product alone, median of `runs` after one that warms up.
double product_s(const Product& product, int runs);

}  // namespace wsc::cli
