// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "wsc/base/exact_sum.hpp"
#include "wsc/base/view.hpp"
#include "wsc/csx/compute_copy.hpp"
#include "wsc/csx/wave_rows.hpp"
#include "wsc/graph/graph.hpp"
#include "wsc/plan/plan.hpp"

namespace wsc::csx {

/// What a csx found in its samples of one pass.
struct LossSum {
  ExactSum loss;                  ///< sum of the token losses
  std::int64_t valid_tokens = 0;  ///< rows that count
};

/// Where the weights (in the format of the arithmetic) and weight gradients of one visit lie: one pointer per block in the visit's stream.
struct VisitBlocks {
  std::vector<const void*> weights;
  std::vector<float*> gradients;
};

/// Numbers that a pass shares with all its ops.
struct PassNumbers {
  double gradient_scale = 1;  ///< loss scale / (B·T)
  bool training = true;       ///< dropout acts
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  const std::int32_t* row_places = nullptr;  ///< of every row of the tables: where a row block (plan/row_blocks.hpp) has it; else null
};

/// Executes a plan, visit by visit: the activation arena, the rows of the current wave, tiles. Knows nothing of ranks or streams.
class Csx {
 public:
  /// `graph` must outlive the csx. `csx`: which of the layout's csx it is.
  Csx(const Graph& graph, int csx);

  /// Makes room for a plan; the arena is shared by all plans and has the size of the largest.
  void prepare(const plan::Plan& plan);

  /// Begins a pass of the plan. `blocks`: of its schedule, where row blocks have the size that they have in this pass; kept by reference.
  void begin(const plan::Plan& plan, const std::vector<fabric::BlockSplit>& blocks, const PassNumbers& numbers);
  /// Loads the rows of a wave: the samples of the batch that belong to it (the batch holds those of all waves, in order).
  void load(const data::Batch& batch, std::int64_t wave);
  /// The weights of visit `index` in the format of the arithmetic; `arrived`: as they came. Those of the visit before go.
  std::vector<const void*> weights(int index, const std::vector<const void*>& arrived);
  /// Runs visit `index` of the plan's wave on all tiles.
  void visit(int index, const VisitBlocks& blocks);

  /// Losses of the waves of this pass so far.
  LossSum result() const { return sum_; }
  /// Seconds spent in load() and visit() since begin().
  double compute_s() const { return compute_s_; }
  /// Logits (rows, V) of the last tile of the last stage, of an evaluation in fp32: for tests and generation.
  Matrix<const float> logits() const;

  /// Samples of the global batch that this csx has in the pass, wave after wave: what its batches hold.
  static std::vector<std::int64_t> samples(const plan::Plan& plan, int csx);
  /// Bytes of the arena.
  std::int64_t arena_bytes() const { return static_cast<std::int64_t>(arena_.size()) * 4; }

 private:
  /// Real: how the plan stores activations.
  template <class Real>
  class Tile;
  /// All tiles of a leaf.
  void visit_leaf(const plan::PlannedVisit& visit, RowRange leaf, const VisitBlocks& blocks);
  template <class Real>
  void visit_tile(const plan::PlannedVisit& visit, RowRange range, const VisitBlocks& blocks);
  /// Leaf sum i, from 1: room for the gradients of any visit.
  Vector<float> leaf_sum(int i);
  /// The same blocks with their gradients in leaf sum i; 0: where they leave from.
  VisitBlocks with_leaf_sum(const plan::PlannedVisit& visit, const VisitBlocks& blocks, int i);
  /// Adds leaf sum i of the visit to the one below it.
  void merge(const plan::PlannedVisit& visit, const VisitBlocks& blocks, int i);
  template <class Real>
  void forward_tile(Tile<Real>& tile, const Stage& stage, const std::vector<bool>* only) const;
  template <class Real>
  void backward_tile(Tile<Real>& tile, const Stage& stage) const;
  void add_losses();
  std::int64_t elements(BlockId b) const { return (*blocks_)[static_cast<std::size_t>(b.index)].elements; }

  const Graph& graph_;
  int csx_;
  const plan::Plan* plan_ = nullptr;
  const std::vector<fabric::BlockSplit>* blocks_ = nullptr;
  PassNumbers numbers_;
  Buffer<float> arena_;
  ComputeCopy compute_copy_;
  WaveRows rows_;
  LossSum sum_;
  double compute_s_ = 0;
  std::int64_t last_tile_rows_ = 0;
};

}  // namespace wsc::csx
