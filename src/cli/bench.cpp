// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/bench.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "wsc/base/format.hpp"
#include "wsc/cli/cluster.hpp"
#include "wsc/cli/kokkos_scope.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/fabric/bench_stream.hpp"
#include "wsc/kernels/measured_product.hpp"

namespace wsc::cli {
namespace {

constexpr const char* usage =
    "bench kernels [--threads N] | bench step DECK [--steps N] | bench stream [--elements N] [--blocks N] [--cluster.memoryx=M …]";

ExitCode bench_kernels(Arguments arguments) {
  const std::int64_t threads = take_integer(arguments, "threads", cores_allowed());
  expect_no_more(arguments, usage);
  const KokkosScope kokkos(static_cast<int>(threads));
  std::printf("GEMM, %lld thread%s, median of 7, GFLOP/s\n%8s %8s %8s %10s %10s\n", static_cast<long long>(threads),
              threads == 1 ? "" : "s", "rows", "in", "out", "fp32", "bf16");
  struct Shape {
    std::int64_t rows, in, out;
  };
  for (const Shape s : {Shape{1024, 768, 2304}, Shape{1024, 768, 3072}, Shape{1024, 3072, 768}, Shape{256, 768, 50257},
                        Shape{768, 128, 512}, Shape{64, 768, 768}}) {
    const kernels::Product product{kernels::Transpose::no, kernels::Transpose::yes, s.rows, s.out, s.in, false};  // forward of a linear op
    std::printf("%8lld %8lld %8lld %10.1f %10.1f\n", static_cast<long long>(s.rows), static_cast<long long>(s.in),
                static_cast<long long>(s.out), 1e-9 * product.flops() / kernels::product_s(product, 7),
                1e-9 * product.flops() / kernels::product_s(product, 7, Precision::bf16));
  }
  return ExitCode::ok;
}

/// What the fabric of this launch carries: start it as a training is started, under mpirun.
ExitCode bench_stream(Arguments arguments) {
  const std::vector<std::string> overrides = take_overrides(arguments);
  const std::int64_t elements = take_integer(arguments, "elements", 4 << 20), blocks = take_integer(arguments, "blocks", 16);
  expect_no_more(arguments, usage);
  if (elements < 1 || blocks < 1) throw SettingsError("--elements and --blocks are at least 1.");
  // Only [cluster] matters here; what a deck must have besides is filled in.
  const Settings settings = parse_settings(
      "[model]\nhidden_size=1\nnum_heads=1\nnum_hidden_layers=1\nvocab_size=1\nmax_position_embeddings=1\n[train_input]\nbatch_size=1\n"
      "data_dir=none\n[runconfig]\nmodel_dir=none\nmax_steps=1\n",
      "bench stream", overrides);
  return run_cluster(settings, [&](const train::Setup& setup, fabric::Channel* channel) {
    if (!channel) throw SettingsError("one process streams nothing: start it with mpirun -np 3 wsc bench stream.");
    const fabric::StreamRates rates = fabric::bench_stream(*channel, elements, static_cast<int>(blocks), 5);
    if (channel->rank().index == 0)
      std::printf(
          "%d memoryx + %d csx, %lld blocks of %s, best of 5\nbroadcast %s/s, reduce %s/s, both at once %s/s each, empty pass %.0f us\n",
          setup.layout.memoryx, setup.layout.csx, static_cast<long long>(blocks), bytes_text(4.0 * static_cast<double>(elements)).c_str(),
          bytes_text(rates.broadcast_bytes_per_s).c_str(), bytes_text(rates.reduce_bytes_per_s).c_str(),
          bytes_text(rates.both_bytes_per_s).c_str(), 1e6 * rates.round_trip_s);
    return ExitCode::ok;
  });
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

ExitCode bench(Arguments arguments) {
  const std::string what = arguments.empty() ? "" : arguments.front();
  if (!arguments.empty()) arguments.erase(arguments.begin());
  if (what == "kernels") return bench_kernels(std::move(arguments));
  if (what == "step") return bench_step(std::move(arguments));
  if (what == "stream") return bench_stream(std::move(arguments));
  throw SettingsError(std::string("usage: wsc ") + usage);
}

}  // namespace wsc::cli
