// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/measured_product.hpp"

#include <algorithm>
#include <vector>

#include "wsc/base/clock.hpp"

namespace wsc::kernels {

namespace {

/// Of each run, ascending.
std::vector<double> run_seconds(const Product& p, int runs) {
  const Exec exec;
  const auto fresh = [&](std::int64_t n) {
    Buffer<float> b(Kokkos::view_alloc("wsc::kernels::operand", Kokkos::WithoutInitializing), static_cast<std::size_t>(n));
    Kokkos::deep_copy(exec, b, 0.01f);
    return b;
  };
  const Buffer<float> a = fresh(p.m * p.k), b = fresh(p.k * p.n), c = fresh(p.m * p.n);
  const std::int64_t a_stride = p.ta == Transpose::yes ? p.m : p.k, b_stride = p.tb == Transpose::yes ? p.k : p.n;
  std::vector<double> seconds;
  for (int run = 0; run <= runs; ++run) {
    const Stopwatch watch;
    gemm<float>(exec, p.ta, p.tb, p.m, p.n, p.k, 1, {a.data(), a_stride}, {b.data(), b_stride}, p.adds ? 1 : 0, c.data(), p.n);
    if (run > 0) seconds.push_back(watch.seconds());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

}  // namespace

double product_s(const Product& product, int runs) { return run_seconds(product, runs)[static_cast<std::size_t>(runs / 2)]; }

double linear_flops_per_s(std::int64_t rows, std::int64_t in, std::int64_t out) {
  constexpr std::int64_t widest = 4096;
  constexpr double most = 1e9;  // FLOPs of a product
  in = std::min(in, widest);
  out = std::min(out, widest);
  rows = std::clamp<std::int64_t>(static_cast<std::int64_t>(most / (2.0 * static_cast<double>(in) * static_cast<double>(out))), 64,
                                  std::max<std::int64_t>(rows, 64));
  double flops = 0, seconds = 0;
  for (const Product& p :
       {Product{Transpose::no, Transpose::yes, rows, out, in, false}, Product{Transpose::no, Transpose::no, rows, in, out, false},
        Product{Transpose::yes, Transpose::no, out, in, rows, true}}) {
    flops += p.flops();
    seconds += run_seconds(p, 5).front();
  }
  return flops / seconds;
}

}  // namespace wsc::kernels
