// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/plan.hpp"

#include <algorithm>

#include "build.hpp"
#include "lifetimes.hpp"

#include "wsc/base/error.hpp"
#include "wsc/optimizer/update_rule.hpp"
#include "wsc/plan/arena.hpp"
#include "wsc/plan/split.hpp"

namespace wsc::plan {
namespace {

/// Scratch of one tile where memory is not short. It is the head that meets this limit: every tile of it adds to all of the gradient of a
/// (V, C) table, which few rows do not pay for.
constexpr std::int64_t comfortable_scratch = 512ll << 20;
constexpr std::int64_t library_bytes = 96ll << 20;  // program, MPI, JIT-compiled GEMMs and their packing buffers

/// Bytes of a row of everything that the stage makes.
std::int64_t row_bytes(const Graph& graph, const Stage& stage, Precision compute) {
  std::int64_t size = 0;
  for (const Op& op : stage.ops)
    for (const TensorId t : op_outputs(op)) size += 4 * words(graph[t], 1, compute);
  return size;
}

/// Rows of the largest leaf and of the largest part that one csx has in one wave.
struct Extents {
  std::int64_t leaf_rows = 0, wave_rows = 0;
};

Extents extents(const Plan& plan) {
  Extents e;
  const Request& r = plan.request;
  for (std::int64_t k = 0; k < plan.leaves; ++k)
    e.leaf_rows = std::max(e.leaf_rows, leaf_samples(r.batch, plan.leaves, k).count() * r.tokens);
  for (std::int64_t w = 0; w < plan.waves; ++w) e.wave_rows = std::max(e.wave_rows, most_samples(plan, w) * r.tokens);
  return e;
}

/// As many tiles as `most` rows in each would make, of nearly equal size: a small one at the end would waste the machine.
std::int64_t even_tile(std::int64_t most, std::int64_t rows) {
  if (rows == 0) return most;
  const std::int64_t tiles = (rows + most - 1) / most, even = (rows + tiles - 1) / tiles;
  return std::min(most, (even + 63) / 64 * 64);
}

StagePlan plan_stage(const Graph& graph, const Request& request, const Candidate& choice, StageId id, std::int64_t leaf_rows) {
  const Stage& stage = graph[id];
  StagePlan how;
  if (request.micro_batch > 0) {
    how.tile_rows = request.micro_batch * request.tokens;
  } else {
    const std::int64_t comfortable = comfortable_scratch / (2 * row_bytes(graph, stage, request.compute));
    how.tile_rows = std::max(smallest_tile, std::min(choice.tile_rows, std::max<std::int64_t>(comfortable / 64 * 64, 256)));
  }
  if (stage.coupling == Coupling::sample)  // whole samples
    how.tile_rows = std::max(request.tokens, how.tile_rows / request.tokens * request.tokens);
  how.tile_rows = std::min(how.tile_rows, leaf_rows);
  if (request.micro_batch == 0 && stage.coupling == Coupling::rows) how.tile_rows = even_tile(how.tile_rows, leaf_rows);
  const bool turn = id == graph.turn();
  how.recompute = choice.recompute && !turn && request.purpose == Purpose::train;
  how.rerun = how.recompute ? ops_to_rerun(graph, id) : std::vector<bool>(stage.ops.size(), false);
  return how;
}

void count_bytes(const Request& r, Plan& plan) {
  plan.bytes.compute_copy = bytes_of(r.compute) * plan.compute_copy_elements;
  if (r.streamed) {
    plan.bytes.weight_window = bytes_of(r.wire_weights) * plan.window_elements;
    plan.bytes.gradient_buffers = 4 * plan.gradient_elements;
    // Library collectives allocate up to one and a half times a reduction's message (measured); broadcasts work in place.
    plan.bytes.fabric_buffers = r.layout.memoryx * r.messages_in_flight * r.chunk_bytes * 3 / 2;
  }
  // On the null fabric a sum that is not the first one to land has a buffer of its own.
  if (!r.streamed && r.ordered) plan.bytes.gradient_buffers = 4 * plan.gradient_elements;
  plan.bytes.gradient_buffers += 4 * plan.leaf_sums * plan.leaf_sum_elements;
  // An order-keeping csx holds two messages of others for each of its own.
  if (r.streamed && r.ordered && r.layout.csx > 2) plan.bytes.fabric_buffers = r.layout.memoryx * r.messages_in_flight * r.chunk_bytes * 2;
  // ids, labels, positions, tokens, spans (4 bytes each), loss mask, sample number and loss of every row; 17 bytes a row of the batches
  // read ahead, of the one in the reader's hand and of the running one.
  plan.bytes.batches = plan.wave_rows * (5 * 4 + 1 + 8 + 8) + (r.prefetch_batches + 2) * 17 * plan.wave_rows * plan.waves;
  plan.bytes.library = library_bytes;
}

}  // namespace

Plan build(const Graph& graph, const Plan& start, const Candidate& choice) {
  Plan plan = start;
  const Request& request = plan.request;
  plan.waves = choice.waves;
  plan.leaves = request.leaves > 0 ? request.leaves : choice.waves * request.layout.csx;
  plan.prefetch = choice.prefetch;
  const Extents e = extents(plan);
  plan.wave_rows = e.wave_rows;
  for (std::size_t s = 0; s < graph.stages.size(); ++s) plan.stages.push_back(plan_stage(graph, request, choice, StageId(s), e.leaf_rows));
  plan.visits = order_visits(graph, plan);
  place_tensors(graph, plan);
  place_blocks(plan);
  count_bytes(request, plan);
  plan.fits = request.memory == 0 || plan.bytes.total() <= request.memory;
  return plan;
}

std::int64_t most_samples(const Plan& plan, std::int64_t wave) {
  const Request& r = plan.request;
  std::int64_t most = 0;
  for (int i = 0; i < r.layout.csx; ++i) {
    // Leaves side by side are samples side by side.
    const SampleRange leaves = csx_leaves(plan.leaves, plan.waves, r.layout.csx, wave, i);
    if (leaves.count() == 0) continue;
    most =
        std::max(most, leaf_samples(r.batch, plan.leaves, leaves.last - 1).last - leaf_samples(r.batch, plan.leaves, leaves.first).first);
  }
  return most;
}

Request request_from(const Settings& s, Purpose purpose, std::int64_t batch, std::int64_t tokens, fabric::Layout layout, int threads,
                     bool streamed) {
  Request r;
  r.purpose = purpose;
  r.batch = batch;
  r.tokens = tokens;
  r.layout = layout;
  r.threads = threads;
  r.streamed = streamed;
  r.memory = s.csx.memory;
  r.prefetch = s.csx.prefetch;
  const bool train = purpose == Purpose::train;
  r.waves = train ? s.csx.waves : 0;
  r.ordered = s.cluster.ordered();
  r.leaves = train || r.ordered ? s.csx.leaves : 0;
  r.micro_batch = (train ? s.train_input : s.eval_input).micro_batch_size;
  r.recompute = s.csx.recompute;
  r.chunk_bytes = s.cluster.chunk_bytes;
  r.compute = precision_of(s.precision.compute);
  r.wire_weights = precision_of(s.precision.wire_weights);
  r.messages_in_flight = s.cluster.messages_in_flight;
  r.prefetch_batches = (train ? s.train_input : s.eval_input).prefetch_batches;
  r.rates = {1e9 * s.cluster.gflops_per_thread * threads, 1e9 * s.cluster.memory_gbytes_per_s, 1e9 * s.cluster.link_gbytes_per_s};
  r.state_arrays = static_cast<int>(optimizer::state_names(optimizer::update_rule(s.optimizer)).size());
  return r;
}

}  // namespace wsc::plan
