// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tile.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"

namespace wsc::csx {
namespace {

/// Where a visit has this block, or the row block that stands for it.
std::size_t index_of(const plan::Plan& plan, const Graph& graph, const std::vector<BlockId>& blocks, BlockId block) {
  auto found = std::find(blocks.begin(), blocks.end(), block);
  for (const plan::RowBlock& rows : plan.row_blocks)
    if (found == blocks.end() && graph[rows.table].block == block) found = std::find(blocks.begin(), blocks.end(), rows.id);
  WSC_ASSERT(found != blocks.end());
  return static_cast<std::size_t>(found - blocks.begin());
}

std::size_t extent(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

template <class Real>
Csx::Tile<Real>::Tile(const Graph& graph, const plan::Plan& plan, const plan::PlannedVisit& visit, float* arena, const WaveRows& rows,
                      RowRange range, const VisitBlocks& blocks, const PassNumbers& numbers)
    : graph_(graph),
      plan_(plan),
      visit_(visit),
      arena_(arena),
      range_(range),
      blocks_(blocks),
      tile_rows_(rows.slice(range)),
      losses_(rows.losses(range)) {
  this->gradient_scale = numbers.gradient_scale;
  this->training = numbers.training;
  this->seed = numbers.seed;
  this->step = numbers.step;
}

template <class Real>
template <class Stored>
Matrix<Stored> Csx::Tile<Real>::at(plan::Place place, bool wave, TensorId t) const {
  WSC_ASSERT(place >= 0);
  const std::int64_t width = graph_[t].width;
  return Matrix<Stored>(reinterpret_cast<Stored*>(arena_ + place) + (wave ? range_.first * width : 0), extent(range_.count()),
                        extent(width));
}

template <class Real>
template <class Stored>
Matrix<Stored> Csx::Tile<Real>::value_at(TensorId t) const {
  const plan::TensorPlan& place = plan_.tensors[t.index];
  return at<Stored>(backward_ ? place.backward : place.forward, place.wave, t);
}

template <class Real>
Matrix<Real> Csx::Tile<Real>::value(TensorId t) {
  WSC_ASSERT(graph_[t].dtype == Dtype::activation);
  return value_at<Real>(t);
}

template <class Real>
auto Csx::Tile<Real>::statistic(TensorId t) -> Matrix<Sum> {
  WSC_ASSERT(graph_[t].dtype == Dtype::fp32);
  return value_at<Sum>(t);
}

template <class Real>
Matrix<const Real> Csx::Tile<Real>::gradient(TensorId t) {
  const plan::TensorPlan& place = plan_.tensors[t.index];
  return at<Real>(place.gradient, place.gradient_wave, t);
}

template <class Real>
kernels::GradientOut<Real> Csx::Tile<Real>::gradient_out(TensorId t) {
  const std::vector<TensorId> inputs = op_inputs(graph_[visit_.stage].ops[op_]);
  const auto which = static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), t) - inputs.begin());
  WSC_ASSERT(which < inputs.size());
  const plan::TensorPlan& place = plan_.tensors[t.index];
  return {at<Real>(place.gradient, place.gradient_wave, t), !plan_.overwrites[visit_.stage.index][op_][which]};
}

template <class Real>
Matrix<const Real> Csx::Tile<Real>::weight(WeightId w) {
  const Weight& weight = graph_[w];
  const void* const block = blocks_.weights[index_of(plan_, graph_, visit_.stream.receives, weight.block)];
  return Matrix<const Real>(static_cast<const Real*>(block) + weight.offset, extent(weight.rows), extent(weight.columns));
}

template <class Real>
auto Csx::Tile<Real>::weight_gradient(WeightId w) -> Matrix<Sum> {
  const Weight& weight = graph_[w];
  return Matrix<Sum>(blocks_.gradients[index_of(plan_, graph_, visit_.stream.gradients, weight.block)] + weight.offset, extent(weight.rows),
                     extent(weight.columns));
}

template <class Real>
auto Csx::Tile<Real>::workspace() -> Vector<Sum> {
  return Vector<Sum>(arena_ + plan_.workspace, extent(plan_.workspace_elements));
}

template class Csx::Tile<float>;
template class Csx::Tile<bfloat16>;
template class Csx::Tile<float16>;
template class Csx::Tile<cbfloat16>;

}  // namespace wsc::csx
