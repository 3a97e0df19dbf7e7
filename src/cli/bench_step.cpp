// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wsc/base/clock.hpp"
#include "wsc/base/process.hpp"
#include "wsc/base/random.hpp"
#include "wsc/cli/bench.hpp"
#include "wsc/cli/kokkos_scope.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/kernels/measured_product.hpp"
#include "wsc/memoryx/shard.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/plan/split.hpp"
#include "wsc/train/step.hpp"

namespace wsc::cli {
namespace {

using kernels::Product;
using kernels::Transpose;

/// Seconds by name: of the innermost open region, or of a kernel outside of any.
class Times {
 public:
  Times() {
    current() = this;
    namespace tools = Kokkos::Tools::Experimental;
    tools::set_push_region_callback([](const char* name) { current()->open(name); });
    tools::set_pop_region_callback([] { current()->close(); });
    tools::set_begin_parallel_for_callback([](const char* name, std::uint32_t, std::uint64_t*) { current()->open_kernel(name); });
    tools::set_end_parallel_for_callback([](std::uint64_t) { current()->close_kernel(); });
  }
  ~Times() {
    namespace tools = Kokkos::Tools::Experimental;
    tools::set_push_region_callback(nullptr);
    tools::set_pop_region_callback(nullptr);
    tools::set_begin_parallel_for_callback(nullptr);
    tools::set_end_parallel_for_callback(nullptr);
  }
  Times(const Times&) = delete;
  Times& operator=(const Times&) = delete;

  /// What was measured since the last call.
  std::map<std::string, double> take() { return std::exchange(seconds_, {}); }

 private:
  static Times*& current() {
    static Times* times = nullptr;
    return times;
  }
  void open(const char* name) {
    names_.emplace_back(name);
    watch_ = Stopwatch();
  }
  void close() {
    seconds_[names_.back()] += watch_.seconds();
    names_.pop_back();
  }
  void open_kernel(const char* name) {
    if (names_.empty()) kernel_ = name, watch_ = Stopwatch();
  }
  void close_kernel() {
    if (names_.empty()) seconds_[kernel_] += watch_.seconds();
  }

  std::vector<std::string> names_;
  std::string kernel_;
  Stopwatch watch_;
  std::map<std::string, double> seconds_;
};

/// Random tokens: which ones does not matter for the time.
data::Batch random_batch(std::int64_t samples, std::int64_t tokens, std::int64_t vocab) {
  data::Batch batch(samples, tokens, false, false);
  const RandomKey key(1, "bench", "tokens", 0);
  for (std::int64_t i = 0; i < samples * tokens; ++i) {
    const auto bits = key.bits(0, static_cast<std::uint64_t>(i));
    batch.input_ids[i] = static_cast<std::int32_t>(bits[0] % static_cast<std::uint32_t>(vocab));
    batch.labels[i] = static_cast<std::int32_t>(bits[1] % static_cast<std::uint32_t>(vocab));
    batch.loss_mask[i] = 1;
  }
  for (std::int64_t s = 0; s < samples; ++s) batch.global_index[s] = s;
  return batch;
}

/// One process that is both memoryx and csx.
class OneProcess {
 public:
  OneProcess(const Graph& graph, const Settings& settings, const train::Setup& setup)
      : settings_(settings),
        plans_(graph, settings, setup),
        pass_(plans_.train(settings.train_input.batch_size)),
        shard_(graph, plan::split_blocks(graph, 1), fabric::ShardId(0), settings.optimizer, precision_of(settings.precision.wire_weights)),
        streams_(fabric::make_null_streams(shard_)),
        csx_(graph, 0),
        batch_(random_batch(settings.train_input.batch_size, setup.tokens, settings.model.vocab_size)) {
    shard_.initialise(1);
    csx_.prepare(pass_.plan);
  }

  const plan::Plan& plan() const { return pass_.plan; }

  void step() {
    const double tokens = static_cast<double>(batch_.samples * batch_.T);
    train::csx_pass(csx_, pass_.plan, pass_.schedule,
                    {.gradient_scale = 1 / tokens, .training = true, .seed = 1, .step = static_cast<std::uint64_t>(steps_)}, batch_,
                    *streams_);
    const double norm = std::sqrt(shard_.take_squared_norm().value()), most = settings_.optimizer.max_gradient_norm;
    shard_.decide({.skip = false,
                   .gradient_factor = most > 0 ? std::min(1.0, most / (norm + 1e-6)) : 1.0,
                   .learning_rate = 1e-5,
                   .optimizer_step = ++steps_});
    shard_.apply_pending();  // in training this happens in the next pass
  }

 private:
  const Settings& settings_;
  train::Plans plans_;
  const train::PlannedPass& pass_;
  memoryx::Shard shard_;
  std::unique_ptr<fabric::CsxStreams> streams_;
  csx::Csx csx_;
  data::Batch batch_;
  std::int64_t steps_ = 0;
};

/// The products of all linear ops and of the head, with how often a step makes them; attention's, which are no single GEMMs, not.
std::map<Product, std::int64_t> products(const Graph& graph, const plan::Plan& plan) {
  std::map<Product, std::int64_t> all;
  const auto add = [&](const plan::StagePlan& how, std::size_t op_index, const Op& op, std::int64_t rows) {
    std::int64_t in = 0, out = 0;
    bool adds = false;
    if (const auto* linear = std::get_if<Linear>(&op))
      in = linear->in, out = linear->out, adds = linear->bias.valid() || linear->residual.valid();
    else if (const auto* head = std::get_if<CrossEntropy>(&op))
      in = head->width, out = head->vocab;
    else
      return;
    all[{Transpose::no, Transpose::yes, rows, out, in, adds}] += how.rerun[op_index] ? 2 : 1;
    all[{Transpose::no, Transpose::no, rows, in, out, false}] += 1;
    all[{Transpose::yes, Transpose::no, out, in, rows, true}] += 1;
  };
  for (std::int64_t k = 0; k < plan.leaves; ++k) {
    const std::int64_t leaf_rows = plan::leaf_samples(plan.request.batch, plan.leaves, k).count() * plan.request.tokens;
    for (std::size_t s = 0; s < graph.stages.size(); ++s)
      for (std::int64_t first = 0; first < leaf_rows; first += plan.stages[s].tile_rows)
        for (std::size_t i = 0; i < graph.stages[s].ops.size(); ++i)
          add(plan.stages[s], i, graph.stages[s].ops[i], std::min(plan.stages[s].tile_rows, leaf_rows - first));
  }
  return all;
}

}  // namespace

ExitCode bench_step(Arguments arguments) {
  constexpr const char* usage = "bench step DECK [--steps N] [--section.key=value …]";
  const int steps = static_cast<int>(take_integer(arguments, "steps", 5));
  const std::vector<std::string> overrides = take_overrides(arguments);
  if (arguments.empty()) throw SettingsError(std::string("usage: wsc ") + usage);
  const std::string deck = arguments.front();
  arguments.erase(arguments.begin());
  expect_no_more(arguments, usage);
  if (steps < 1) throw SettingsError("--steps is at least 1.");
  const Settings settings = read_settings(deck, overrides);
  const std::int64_t T =
      settings.train_input.max_sequence_length > 0 ? settings.train_input.max_sequence_length : settings.model.max_position_embeddings;
  const int threads = settings.cluster.threads > 0 ? static_cast<int>(settings.cluster.threads) : cores_allowed();
  const KokkosScope kokkos(threads);
  kernels::same_products_for_all_threads(settings.cluster.ordered());
  const Graph graph = models::build(settings.model);
  OneProcess process(graph, settings, {.layout = {1, 1}, .streamed = false, .threads = threads, .tokens = T});
  process.step();  // touches memory, compiles GEMMs
  const std::int64_t peak_bytes = resident_peak_bytes();

  const std::map<Product, std::int64_t> all = products(graph, process.plan());
  std::vector<double> step_s, bound_s;
  std::map<std::string, std::vector<double>> parts;
  for (int i = 0; i < steps; ++i) {  // in turn, so that a machine whose speed drifts treats both alike
    Times times;
    const Stopwatch watch;
    process.step();
    step_s.push_back(watch.seconds());
    double rest = step_s.back();
    for (const auto& [name, seconds] : times.take()) {
      parts[name].push_back(seconds);
      rest -= seconds;
    }
    parts["(rest)"].push_back(rest);
    double bound = 0;
    for (const auto& [product, count] : all)
      bound += static_cast<double>(count) * kernels::product_s(product, 3, process.plan().request.compute);
    bound_s.push_back(bound);
  }

  const double whole = median(step_s), bound = median(bound_s), tokens = static_cast<double>(settings.train_input.batch_size * T);
  std::printf("one process, %d thread%s, %lld x %lld tokens, median of %d steps\n", threads, threads == 1 ? "" : "s",
              static_cast<long long>(settings.train_input.batch_size), static_cast<long long>(T), steps);
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [name, seconds] : parts) rows.emplace_back(median(seconds), name);
  std::sort(rows.rbegin(), rows.rend());
  for (const auto& [seconds, name] : rows) std::printf("%10.2f ms %5.1f %%  %s\n", 1e3 * seconds, 100 * seconds / whole, name.c_str());
  double flops = 0;
  for (const auto& [product, count] : all) flops += static_cast<double>(count) * product.flops();
  std::printf("resident peak %lld bytes\n", static_cast<long long>(peak_bytes));
  std::printf("step %.4f s, %.1f tokens/s; GEMM bound %.4f s (%.1f GFLOP/s alone); bound / step = %.3f\n", whole, tokens / whole, bound,
              1e-9 * flops / bound, bound / whole);
  return ExitCode::ok;
}

}  // namespace wsc::cli
