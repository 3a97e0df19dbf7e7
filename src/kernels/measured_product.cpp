// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/measured_product.hpp"

#include <algorithm>
#include <vector>

#include "wsc/base/clock.hpp"
#include "wsc/kernels/loops.hpp"

namespace wsc::kernels {

namespace {

/// Memory that was never written is not all the same: some of it is read faster.
template <class Real>
Buffer<Real> filled(std::int64_t n) {
  Buffer<Real> b(Kokkos::view_alloc("wsc::kernels::operand", Kokkos::WithoutInitializing), static_cast<std::size_t>(n));
  Real* const data = b.data();
  for_rows(
      "wsc::kernels::operand", Exec(), n, KOKKOS_LAMBDA(std::int64_t i) { store(data[i], 0.01f); });
  return b;
}

/// Of each run, ascending.
template <class Real>
std::vector<double> run_seconds(const Product& p, int runs) {
  const Exec exec;
  const bool gradient = p.ta == Transpose::yes;
  const Buffer<Real> a = filled<Real>(p.m * p.k), b = filled<Real>(p.k * p.n), c = filled<Real>(gradient ? 0 : p.m * p.n);
  const Buffer<float> sums = filled<float>(gradient ? p.m * p.n : 0);
  const Buffer<float> workspace = filled<float>(rounds<Real> ? product_workspace(p.m, p.n, p.k) : 0);
  const std::int64_t a_stride = gradient ? p.m : p.k, b_stride = p.tb == Transpose::yes ? p.k : p.n;
  std::vector<double> seconds;
  for (int run = 0; run <= runs; ++run) {
    const Stopwatch watch;
    if (gradient)
      add_product<Real>(exec, p.ta, p.tb, p.m, p.n, p.k, {a.data(), a_stride}, {b.data(), b_stride}, sums.data(), p.n, workspace);
    else
      product<Real>(exec, p.ta, p.tb, p.m, p.n, p.k, {a.data(), a_stride}, {b.data(), b_stride}, {p.adds ? c.data() : nullptr, p.n},
                    c.data(), p.n, workspace);
    if (run > 0) seconds.push_back(watch.seconds());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

}  // namespace

double product_s(const Product& product, int runs, Precision compute) {
  const auto middle = static_cast<std::size_t>(runs / 2);
  switch (compute) {
    case Precision::fp32:
      return run_seconds<float>(product, runs)[middle];
    case Precision::bf16:
      return run_seconds<bfloat16>(product, runs)[middle];
    case Precision::fp16:
      return run_seconds<float16>(product, runs)[middle];
    case Precision::cb16:
      break;
  }
  return run_seconds<cbfloat16>(product, runs)[middle];
}

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
    seconds += run_seconds<float>(p, 5).front();
  }
  return flops / seconds;
}

}  // namespace wsc::kernels
