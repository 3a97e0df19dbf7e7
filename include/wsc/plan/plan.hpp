// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "wsc/base/precision.hpp"
#include "wsc/config/settings.hpp"
#include "wsc/fabric/layout.hpp"
#include "wsc/fabric/schedule.hpp"
#include "wsc/graph/graph.hpp"
#include "wsc/plan/row_blocks.hpp"

namespace wsc::plan {

enum class Purpose { train, evaluate };
enum class Direction { forward, turn, backward };
constexpr const char* direction_name(Direction d) {
  return d == Direction::forward ? "forward" : d == Direction::turn ? "turn" : "backward";
}

/// What a rank can do in a second: FLOPs of matrix products on all threads of a csx, bytes to and from memory, bytes into or out of a rank.
struct Rates {
  double flops = 0, memory_bytes = 0, link_bytes = 0;
};

/// Everything a plan is made from, besides the graph.
struct Request {
  Purpose purpose = Purpose::train;
  std::int64_t batch = 0;   ///< B: samples of the global batch
  std::int64_t tokens = 0;  ///< T
  fabric::Layout layout;
  int threads = 1;                      ///< of a csx
  Precision compute = Precision::fp32;  ///< how activations and their gradients are stored
  bool streamed = true;                 ///< false on the null fabric: no weight window, no gradient buffers, no fabric buffers
  std::int64_t memory = 0;              ///< budget of a csx in bytes; 0 = none
  std::int64_t prefetch = -1;           ///< -1 = auto
  std::int64_t waves = 0, leaves = 0;   ///< 0 = auto
  bool ordered = false;                 ///< gradients are added along the tree over the leaves, which are given
  std::int64_t micro_batch = 0;         ///< samples of a tile; 0 = auto
  std::string recompute = "auto";
  std::int64_t chunk_bytes = 4 << 20, messages_in_flight = 2;
  std::int64_t prefetch_batches = 2;
  Rates rates{.flops = 80e9, .memory_bytes = 8e9, .link_bytes = 2e9};
  int state_arrays = 2;                      ///< of the optimizer, per weight
  Precision wire_weights = Precision::fp32;  ///< of weights on the wire and in the window
};

/// Where an array begins, in words of 4 bytes of the arena; -1 = it does not exist. All begin on 64 bytes.
using Place = std::int64_t;
/// Words of 4 bytes of a tensor of so many rows.
std::int64_t words(const Tensor& tensor, std::int64_t rows, Precision compute);

/// How one stage runs.
struct StagePlan {
  std::int64_t tile_rows = 0;
  bool recompute = false;
  std::vector<bool> rerun;  ///< per op: runs again in backward, because backward needs its outputs and they were not kept
};

/// Where the value and gradient of a tensor lie: in a wave array where it crosses stages or is kept, else in a tile's scratch.
struct TensorPlan {
  Place forward = -1;   ///< value while the producer's forward runs, and (if `wave`) until its last use
  Place backward = -1;  ///< value in backward: the same place where it is a wave array, else rebuilt here
  Place gradient = -1;
  bool wave = false;           ///< value: one row per row of the wave; otherwise per row of the tile
  bool gradient_wave = false;  ///< the same of the gradient: tensors that cross stages
};

/// One entry of the order of execution within a wave.
struct PlannedVisit {
  StageId stage;
  Direction direction = Direction::forward;
  fabric::Visit stream;  ///< gradient_is_last is set for the last wave
};

/// Bytes of a csx by purpose.
struct CsxBytes {
  std::int64_t activations = 0;  ///< arena: wave arrays
  std::int64_t scratch = 0;      ///< arena: one tile of the running stage, and kernel workspace
  std::int64_t weight_window = 0;
  std::int64_t compute_copy = 0;  ///< of the running visit's weights, where they travel in another format than that of the arithmetic
  std::int64_t gradient_buffers = 0;
  std::int64_t fabric_buffers = 0;
  std::int64_t batches = 0;  ///< rows of the wave and batches read ahead
  std::int64_t library = 0;  ///< program, MPI, GEMM scratch
  std::int64_t total() const {
    return activations + scratch + weight_window + compute_copy + gradient_buffers + fabric_buffers + batches + library;
  }
};

/// A way to spend the budget that fits it.
struct Candidate {
  std::int64_t waves = 1;
  bool recompute = false;
  int prefetch = 1;
  std::int64_t tile_rows = 0;  ///< rows that stages aim at
  double step_s = 0;           ///< predicted (cost.hpp)
};

/// All that is known before anything runs. Built on every rank from the same settings, without communication and without allocating
/// what it describes.
struct Plan {
  Request request;
  std::int64_t waves = 1, leaves = 1;
  std::int64_t wave_rows = 0;  ///< rows of the largest part that a csx has in a wave
  std::vector<StagePlan> stages;
  std::vector<TensorPlan> tensors;
  std::vector<std::vector<std::vector<bool>>> overwrites;  ///< [stage][op][input]: its backward writes the gradient first
  std::int64_t arena_words = 0;
  Place workspace = 0;                     ///< of the kernels, in the arena
  std::int64_t workspace_elements = 0;     ///< fp32
  std::vector<PlannedVisit> visits;        ///< of one wave
  std::vector<fabric::BlockSplit> blocks;  ///< of the graph, then the row blocks, as large as they can become
  std::vector<RowBlock> row_blocks;
  int prefetch = 1;
  std::int64_t window_elements = 0, gradient_elements = 0;
  /// Most weights of a visit, each block rounded up to 64 bytes; 0 where they are used as they came.
  std::int64_t compute_copy_elements = 0;
  int leaf_sums = 0;  ///< ordered: gradients of a visit that exist beside its buffers while the leaves of a wave are added up
  std::int64_t leaf_sum_elements = 0;  ///< of each of them
  Place leaf_sum_place = 0;            ///< of the first one, in the arena
  CsxBytes bytes;
  bool fits = true;
  std::vector<Candidate> considered;  ///< where there was a choice; the plan is the first of the fastest

  /// Visits whose gradients may be on their way while those of another one are filled.
  int leaving() const { return std::max(1, prefetch); }
  /// The stream of a whole pass: all waves, one after the other. Row blocks have no part on any shard yet: with_rows() says which.
  fabric::StreamSchedule schedule() const;
};

/// Chooses waves, tiles, recompute and prefetch: of what fits the budget, that with the shortest predicted step. Places everything. Where
/// nothing fits, the plan with the least memory, with fits = false. Throws SettingsError for contradictory requests.
Plan make_plan(const Graph& graph, const Request& request);

/// The request that settings make, for a batch of B samples of T tokens.
Request request_from(const Settings& settings, Purpose purpose, std::int64_t batch, std::int64_t tokens, fabric::Layout layout, int threads,
                     bool streamed);

/// Samples [first, last) of the global batch.
struct SampleRange {
  std::int64_t first = 0, last = 0;
  std::int64_t count() const { return last - first; }
};
/// Leaf k of R holds samples ⌊kB/R⌋ … ⌊(k+1)B/R⌋ − 1.
SampleRange leaf_samples(std::int64_t batch, std::int64_t leaves, std::int64_t k);
/// The leaves of wave w on csx i, as a range of leaf numbers: the wave's leaves are split in the same way over the csx.
SampleRange csx_leaves(std::int64_t leaves, std::int64_t waves, int csx, std::int64_t wave, int i);
/// Samples of the csx that has most of this wave.
std::int64_t most_samples(const Plan& plan, std::int64_t wave);
/// Whether each csx has, in each wave, a whole subtree of the tree over the leaves (fabric/reduction_tree.hpp), and each wave too.
bool whole_subtrees(std::int64_t leaves, std::int64_t waves, int csx);

}  // namespace wsc::plan
