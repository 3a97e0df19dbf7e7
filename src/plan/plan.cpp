// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/plan.hpp"

#include <algorithm>

#include "lifetimes.hpp"

#include "wsc/base/error.hpp"
#include "wsc/plan/arena.hpp"
#include "wsc/plan/split.hpp"

namespace wsc::plan {
namespace {

/// One candidate: how the budget is spent.
struct Choice {
  std::int64_t waves = 1;
  bool recompute = false;
  std::int64_t tile_rows = 0;  ///< rows that stages aim at; 0 = micro_batch_size says it
  int prefetch = 1;
};

constexpr std::int64_t largest_tile = 2048, smallest_tile = 64;  // rows: GEMMs of fewer rows waste the machine
/// Scratch of one tile where memory is not short. It is the head that meets this limit: every tile of it adds to all of the gradient of a
/// (V, C) table, which few rows do not pay for.
constexpr std::int64_t comfortable_scratch = 512ll << 20;
constexpr std::int64_t library_bytes = 96ll << 20;  // program, MPI, JIT-compiled GEMMs and their packing buffers

std::int64_t total_width(const Graph& graph, const Stage& stage) {
  std::int64_t width = 0;
  for (const Op& op : stage.ops)
    for (const TensorId t : op_outputs(op)) width += graph[t].width;
  return width;
}

/// Rows of the largest leaf and of the largest part that one csx has in one wave.
struct Extents {
  std::int64_t leaf_rows = 0, wave_rows = 0;
};

Extents extents(const Plan& plan) {
  Extents e;
  const Request& r = plan.request;
  for (std::int64_t w = 0; w < plan.waves; ++w)
    for (int i = 0; i < r.layout.csx; ++i) {
      const SampleRange leaves = csx_leaves(plan.leaves, plan.waves, r.layout.csx, w, i);
      std::int64_t samples = 0;
      for (std::int64_t k = leaves.first; k < leaves.last; ++k) {
        const std::int64_t n = leaf_samples(r.batch, plan.leaves, k).count();
        e.leaf_rows = std::max(e.leaf_rows, n * r.tokens);
        samples += n;
      }
      e.wave_rows = std::max(e.wave_rows, samples * r.tokens);
    }
  return e;
}

/// As many tiles as `most` rows in each would make, of nearly equal size: a small one at the end would waste the machine.
std::int64_t even_tile(std::int64_t most, std::int64_t rows) {
  if (rows == 0) return most;
  const std::int64_t tiles = (rows + most - 1) / most, even = (rows + tiles - 1) / tiles;
  return std::min(most, (even + 63) / 64 * 64);
}

StagePlan plan_stage(const Graph& graph, const Request& request, const Choice& choice, StageId id, std::int64_t leaf_rows) {
  const Stage& stage = graph[id];
  StagePlan how;
  if (request.micro_batch > 0) {
    how.tile_rows = request.micro_batch * request.tokens;
  } else {
    const std::int64_t comfortable = comfortable_scratch / (2 * 4 * total_width(graph, stage));
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
  if (r.streamed) {
    plan.bytes.weight_window = 4 * plan.window_elements;
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

/// `start` has the request and its blocks.
Plan build(const Graph& graph, const Plan& start, const Choice& choice) {
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

/// The search for the budget, for one number of waves: larger tiles before smaller ones, all of them before recompute.
class Search {
 public:
  Search(const Graph& graph, const Request& request) : graph_(graph), request_(request) {
    start_.request = request;
    start_.blocks = split_blocks(graph, request.layout.memoryx);
    if (request.streamed) start_.row_blocks = row_blocks(graph, request.batch * request.tokens);
    for (const RowBlock& rows : start_.row_blocks) start_.blocks.push_back(largest_split(rows, request.layout.memoryx));
    if (request.micro_batch > 0) {
      tiles_ = {0};
    } else if (request.ordered) {
      tiles_ = {largest_tile};  // the same products on every layout, whatever its memory
    } else {
      for (std::int64_t t = largest_tile; t >= smallest_tile; t /= 2) tiles_.push_back(t);
    }
    if (request.prefetch >= 0)
      prefetches_ = {static_cast<int>(request.prefetch)};
    else
      prefetches_ = {2, 1};
    if (request.recompute == "auto")
      recomputes_ = {false, true};
    else
      recomputes_ = {request.recompute == "on"};
  }

  /// The first choice that fits, or the most frugal one.
  Plan best(std::int64_t waves) const {
    if (Plan frugal = most_frugal(waves); !frugal.fits) return frugal;
    for (const bool recompute : recomputes_)
      for (const std::int64_t tile : tiles_)
        for (const int prefetch : prefetches_) {
          Plan plan = build(graph_, start_, {waves, recompute, tile, prefetch});
          if (plan.fits) return plan;
        }
    return most_frugal(waves);
  }

  Plan most_frugal(std::int64_t waves) const {
    return build(graph_, start_, {waves, recomputes_.back(), tiles_.back(), prefetches_.back()});
  }

  /// The same for parts that must be whole subtrees: all numbers of waves that make them are tried.
  std::int64_t smallest_ordered_waves() const {
    std::int64_t last = 1;
    for (std::int64_t waves = 1; waves * request_.layout.csx <= request_.leaves; ++waves) {
      if (!whole_subtrees(request_.leaves, waves, request_.layout.csx)) continue;
      last = waves;
      if (request_.memory == 0 || most_frugal(waves).fits) break;
    }
    return last;
  }

  /// The smallest number of waves that fits, or the largest one that makes sense.
  std::int64_t smallest_waves() const {
    const std::int64_t most = std::max<std::int64_t>(1, request_.batch / request_.layout.csx);
    std::int64_t low = 1, high = 1;
    while (!most_frugal(high).fits) {
      if (high == most) return most;
      low = high + 1;
      high = std::min(2 * high, most);
    }
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (most_frugal(middle).fits)
        high = middle;
      else
        low = middle + 1;
    }
    return high;
  }

 private:
  const Graph& graph_;
  const Request& request_;
  Plan start_;  ///< request and blocks
  std::vector<std::int64_t> tiles_;
  std::vector<int> prefetches_;
  std::vector<bool> recomputes_;
};

/// Divisions of the leaves that keep the order, as "waves × csx", for people.
std::string fitting_parts(std::int64_t leaves) {
  std::string list;
  for (std::int64_t waves = 1; waves <= leaves; ++waves)
    for (int csx = 1; waves * csx <= leaves && list.size() < 120; ++csx)
      if (whole_subtrees(leaves, waves, csx)) list += (list.empty() ? "" : ", ") + std::to_string(waves) + " × " + std::to_string(csx);
  return list;
}

void check_subtrees(const Request& r) {
  const std::int64_t n = r.layout.csx;
  if (r.leaves == 0)
    throw SettingsError(
        "cluster.reduction=ordered needs csx.leaves, the parts of the batch at the ends of the gradient sum, the same number on all "
        "layouts. A power of two that is a multiple of cluster.num_csx times csx.waves fits most of them.");
  for (std::int64_t waves = r.waves > 0 ? r.waves : 1; waves * n <= r.leaves; ++waves) {
    if (whole_subtrees(r.leaves, waves, r.layout.csx)) return;
    if (r.waves > 0) break;
  }
  throw SettingsError("csx.leaves=" + std::to_string(r.leaves) + " cannot be divided into whole subtrees of equal size for " +
                      (r.waves > 0 ? std::to_string(r.waves) + " waves on " : std::string()) + std::to_string(n) +
                      " csx, as cluster.reduction=ordered needs. With these leaves fit (waves × csx): " + fitting_parts(r.leaves) +
                      ". Or take csx.leaves=" + std::to_string(std::max<std::int64_t>(r.waves, 1) * n) + " times a power of two" +
                      (r.waves > 1 ? ", where waves and csx are powers of two." : "."));
}

void check(const Request& r) {
  if (r.layout.csx < 1 || r.layout.memoryx < 1)
    throw SettingsError("a cluster needs at least one memoryx and one csx rank, not " + std::to_string(r.layout.memoryx) + " and " +
                        std::to_string(r.layout.csx) + " (cluster.memoryx, cluster.num_csx).");
  if (r.leaves > 0 && r.waves > 0 && r.leaves < r.waves * r.layout.csx)
    throw SettingsError("csx.leaves = " + std::to_string(r.leaves) + " is less than csx.waves × cluster.num_csx = " +
                        std::to_string(r.waves * r.layout.csx) + ": some csx would never have work. Use a multiple, or 0 for auto.");
  if (r.ordered && r.purpose == Purpose::train) check_subtrees(r);
  WSC_EXPECT(r.batch > 0 && r.tokens > 0);
}

}  // namespace

Plan make_plan(const Graph& graph, const Request& request) {
  check(request);
  const Search search(graph, request);
  if (request.waves == 0 && request.ordered && request.purpose == Purpose::train) return search.best(search.smallest_ordered_waves());
  return search.best(request.waves > 0 ? request.waves : request.memory > 0 ? search.smallest_waves() : 1);
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
  r.messages_in_flight = s.cluster.messages_in_flight;
  r.prefetch_batches = (train ? s.train_input : s.eval_input).prefetch_batches;
  return r;
}

}  // namespace wsc::plan
