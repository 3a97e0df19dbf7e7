// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/csx/csx.hpp"

#include <algorithm>
#include <bit>

#include "tile.hpp"
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include "wsc/base/clock.hpp"
#include "wsc/base/error.hpp"
#include "wsc/base/trace.hpp"
#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/ops.hpp"
#include "wsc/plan/arena.hpp"

namespace wsc::csx {

Csx::Csx(const Graph& graph, int csx) : graph_(graph), csx_(csx) {}

void Csx::prepare(const plan::Plan& plan) {
  rows_.reserve(plan.wave_rows);
  compute_copy_.reserve(plan.request.compute, plan.compute_copy_elements);
  if (static_cast<std::int64_t>(arena_.size()) >= plan.arena_words) return;
  arena_ = Buffer<float>();  // before the larger one, not beside it
  arena_ = Buffer<float>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "wsc::csx::arena"), static_cast<std::size_t>(plan.arena_words));
}

void Csx::begin(const plan::Plan& plan, const std::vector<fabric::BlockSplit>& blocks, const PassNumbers& numbers) {
  prepare(plan);
  plan_ = &plan;
  blocks_ = &blocks;
  numbers_ = numbers;
  sum_ = {};
  compute_s_ = 0;
}

std::vector<std::int64_t> Csx::samples(const plan::Plan& plan, int csx) {
  std::vector<std::int64_t> all;
  for (std::int64_t w = 0; w < plan.waves; ++w) {
    const plan::SampleRange leaves = plan::csx_leaves(plan.leaves, plan.waves, plan.request.layout.csx, w, csx);
    for (std::int64_t k = leaves.first; k < leaves.last; ++k) {
      const plan::SampleRange leaf = plan::leaf_samples(plan.request.batch, plan.leaves, k);
      for (std::int64_t s = leaf.first; s < leaf.last; ++s) all.push_back(s);
    }
  }
  return all;
}

void Csx::load(const data::Batch& batch, std::int64_t wave) {
  const Timed timed(compute_s_);
  std::int64_t first = 0;
  std::vector<std::int64_t> sizes;
  for (std::int64_t w = 0; w <= wave; ++w) {
    const plan::SampleRange leaves = plan::csx_leaves(plan_->leaves, plan_->waves, plan_->request.layout.csx, w, csx_);
    for (std::int64_t k = leaves.first; k < leaves.last; ++k) {
      const std::int64_t samples = plan::leaf_samples(plan_->request.batch, plan_->leaves, k).count();
      if (w < wave)
        first += samples;
      else
        sizes.push_back(samples);
    }
  }
  std::int64_t count = 0;
  for (const std::int64_t n : sizes) count += n;
  // The last batch of an evaluation may be short: what is missing counts as no rows.
  const std::int64_t there = std::clamp<std::int64_t>(batch.samples - first, 0, count);
  for (std::int64_t missing = count - there; missing > 0;) {
    const std::int64_t cut = std::min(missing, sizes.back());
    sizes.back() -= cut;
    missing -= cut;
    if (sizes.back() == 0) sizes.pop_back();
  }
  rows_.load(batch, first, there, sizes, numbers_.row_places);
}

std::vector<const void*> Csx::weights(int index, const std::vector<const void*>& arrived) {
  const Timed timed(compute_s_);
  std::vector<WireBlock> came;
  for (std::size_t k = 0; k < arrived.size(); ++k) came.push_back({arrived[k], elements(plan_->visits[index].stream.receives[k])});
  return compute_copy_.take(Exec(), plan_->request.wire_weights, came, plan_->request.compute);
}

// Leaf sums are a stack: every leaf is added up from zeros on top of it, and as in a binary counter two sums of equally many leaves become
// one. What is left at the end is added from the top down: the tree of fabric/reduction_tree.hpp.
void Csx::visit(int index, const VisitBlocks& blocks) {
  const Timed timed(compute_s_);
  const plan::PlannedVisit& visit = plan_->visits[index];
  const trace::Span span(plan::direction_name(visit.direction), graph_[visit.stage].name.c_str());
  const std::vector<RowRange>& leaves = rows_.leaves();
  const bool sums = plan_->leaf_sums > 0 && !visit.stream.gradients.empty();
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (!sums) {
      visit_leaf(visit, leaves[k], blocks);
      continue;
    }
    int top = std::popcount(k);
    const VisitBlocks mine = with_leaf_sum(visit, blocks, top);
    if (top > 0) kernels::fill(Exec(), leaf_sum(top), 0.0f);
    visit_leaf(visit, leaves[k], mine);
    for (int merges = k + 1 == leaves.size() ? top : std::countr_one(k); merges > 0; --merges, --top) merge(visit, blocks, top);
  }
  if (visit.stage == graph_.turn()) add_losses();
}

Vector<float> Csx::leaf_sum(int i) {
  return Vector<float>(arena_.data() + plan_->leaf_sum_place + (i - 1) * plan_->leaf_sum_elements,
                       static_cast<std::size_t>(plan_->leaf_sum_elements));
}

VisitBlocks Csx::with_leaf_sum(const plan::PlannedVisit& visit, const VisitBlocks& blocks, int i) {
  VisitBlocks result = blocks;
  if (i == 0) return result;
  float* place = leaf_sum(i).data();
  for (std::size_t b = 0; b < result.gradients.size(); ++b) {
    result.gradients[b] = place;
    place += plan::aligned(elements(visit.stream.gradients[b]));
  }
  return result;
}

void Csx::merge(const plan::PlannedVisit& visit, const VisitBlocks& blocks, int i) {
  const VisitBlocks from = with_leaf_sum(visit, blocks, i), to = with_leaf_sum(visit, blocks, i - 1);
  for (std::size_t b = 0; b < from.gradients.size(); ++b) {
    const auto count = static_cast<std::size_t>(elements(visit.stream.gradients[b]));  // what lies behind it may be leaving
    kernels::add<float>(Exec(), Vector<float>(to.gradients[b], count), Vector<const float>(from.gradients[b], count));
  }
}

void Csx::visit_leaf(const plan::PlannedVisit& visit, RowRange leaf, const VisitBlocks& blocks) {
  const std::int64_t tile_rows = plan_->stages[visit.stage.index].tile_rows;
  for (std::int64_t first = leaf.first; first < leaf.last; first += tile_rows) {
    const RowRange range{first, std::min(leaf.last, first + tile_rows)};
    switch (plan_->request.compute) {
      case Precision::fp32:
        visit_tile<float>(visit, range, blocks);
        break;
      case Precision::bf16:
        visit_tile<bfloat16>(visit, range, blocks);
        break;
      case Precision::fp16:
        visit_tile<float16>(visit, range, blocks);
        break;
      case Precision::cb16:
        visit_tile<cbfloat16>(visit, range, blocks);
        break;
    }
    last_tile_rows_ = range.count();
  }
}

template <class Real>
void Csx::visit_tile(const plan::PlannedVisit& visit, RowRange range, const VisitBlocks& blocks) {
  const Stage& stage = graph_[visit.stage];
  const plan::StagePlan& how = plan_->stages[visit.stage.index];
  Tile<Real> tile(graph_, *plan_, visit, arena_.data(), rows_, range, blocks, numbers_);
  if (visit.direction == plan::Direction::backward) {
    tile.enter_backward();
    if (how.recompute) forward_tile(tile, stage, &how.rerun);
    backward_tile(tile, stage);
  } else {
    forward_tile(tile, stage, nullptr);
    if (visit.direction == plan::Direction::turn) {
      tile.enter_backward();
      backward_tile(tile, stage);
    }
  }
}

template <class Real>
void Csx::forward_tile(Tile<Real>& tile, const Stage& stage, const std::vector<bool>* only) const {
  for (std::size_t i = 0; i < stage.ops.size(); ++i)
    if (!only || (*only)[i]) {
      const Kokkos::Profiling::ScopedRegion region(op_name(stage.ops[i]) + " forward");  // for Kokkos' tools and `wsc bench step`
      kernels::forward<Real>(stage.ops[i], tile);
    }
}

template <class Real>
void Csx::backward_tile(Tile<Real>& tile, const Stage& stage) const {
  for (std::size_t i = stage.ops.size(); i-- > 0;) {
    tile.enter_op(i);
    const Kokkos::Profiling::ScopedRegion region(op_name(stage.ops[i]) + " backward");
    kernels::backward<Real>(stage.ops[i], tile);
  }
}

void Csx::add_losses() {
  const auto losses = rows_.losses({0, rows_.count()});
  const auto mask = rows_.loss_mask();
  for (std::int64_t r = 0; r < rows_.count(); ++r) {
    sum_.loss.add(losses(r));  // masked rows hold 0
    sum_.valid_tokens += mask(r) != 0;
  }
}

Matrix<const float> Csx::logits() const {
  WSC_EXPECT(plan_->request.compute == Precision::fp32);
  const auto& head = std::get<CrossEntropy>(graph_[graph_.turn()].ops.back());
  const plan::TensorPlan& place = plan_->tensors[head.logits.index];
  return Matrix<const float>(arena_.data() + place.forward, static_cast<std::size_t>(last_tile_rows_),
                             static_cast<std::size_t>(head.vocab));
}

}  // namespace wsc::csx
