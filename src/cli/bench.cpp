// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <vector>

#include "wsc/base/clock.hpp"
#include "wsc/cli/command.hpp"
#include "wsc/cli/kokkos_scope.hpp"
#include "wsc/kernels/gemm.hpp"

namespace wsc::cli {
namespace {

constexpr const char* usage = "bench kernels [--threads N]";

/// Median GFLOP/s of x · weightᵀ, as in the forward pass of a linear op: x (rows, in), weight (out, in).
double gemm_gflops(std::int64_t rows, std::int64_t in, std::int64_t out) {
  const auto fresh = [](const char* label, std::int64_t n) {
    return Buffer<float>(Kokkos::view_alloc(std::string(label)), static_cast<std::size_t>(n));
  };
  const Buffer<float> x = fresh("wsc::cli::x", rows * in), weight = fresh("wsc::cli::weight", in * out),
                      y = fresh("wsc::cli::y", rows * out);
  const Exec exec;
  Kokkos::deep_copy(exec, x, 1.0f);
  Kokkos::deep_copy(exec, weight, 0.5f);
  std::vector<double> seconds;
  for (int run = 0; run < 7; ++run) {
    const Stopwatch watch;
    kernels::gemm<float>(exec, kernels::Transpose::no, kernels::Transpose::yes, rows, out, in, 1, {x.data(), in}, {weight.data(), in}, 0,
                         y.data(), out);
    seconds.push_back(watch.seconds());
  }
  std::sort(seconds.begin(), seconds.end());
  return 2e-9 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out) / seconds[seconds.size() / 2];
}

ExitCode bench_kernels(Arguments arguments) {
  const std::int64_t threads = take_integer(arguments, "threads", cores_allowed());
  expect_no_more(arguments, usage);
  const KokkosScope kokkos(static_cast<int>(threads));
  std::printf("GEMM fp32, %lld thread%s, median of 7\n%8s %8s %8s %10s\n", static_cast<long long>(threads), threads == 1 ? "" : "s", "rows",
              "in", "out", "GFLOP/s");
  struct Shape {
    std::int64_t rows, in, out;
  };
  for (const Shape s : {Shape{1024, 768, 2304}, Shape{1024, 768, 3072}, Shape{1024, 3072, 768}, Shape{256, 768, 50257},
                        Shape{768, 128, 512}, Shape{64, 768, 768}})
    std::printf("%8lld %8lld %8lld %10.1f\n", static_cast<long long>(s.rows), static_cast<long long>(s.in), static_cast<long long>(s.out),
                gemm_gflops(s.rows, s.in, s.out));
  return ExitCode::ok;
}

}  // namespace

ExitCode bench(Arguments arguments) {
  const std::string what = arguments.empty() ? "" : arguments.front();
  if (what != "kernels") throw SettingsError(std::string("usage: wsc ") + usage);
  arguments.erase(arguments.begin());
  return bench_kernels(std::move(arguments));
}

}  // namespace wsc::cli
