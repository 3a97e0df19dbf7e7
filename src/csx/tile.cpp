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

Csx::Tile::Tile(const Graph& graph, const plan::Plan& plan, const plan::PlannedVisit& visit, float* arena, const WaveRows& rows,
                RowRange range, const VisitBlocks& blocks, const PassNumbers& numbers)
    : graph_(graph),
      plan_(plan),
      visit_(visit),
      arena_(arena),
      range_(range),
      blocks_(blocks),
      tile_rows_(rows.slice(range)),
      losses_(rows.losses(range)) {
  gradient_scale = numbers.gradient_scale;
  training = numbers.training;
  seed = numbers.seed;
  step = numbers.step;
}

Matrix<float> Csx::Tile::at(plan::Place place, bool wave, TensorId t) const {
  WSC_ASSERT(place >= 0);
  const std::int64_t width = graph_[t].width;
  return Matrix<float>(arena_ + place + (wave ? range_.first * width : 0), extent(range_.count()), extent(width));
}

Matrix<float> Csx::Tile::value(TensorId t) {
  const plan::TensorPlan& place = plan_.tensors[t.index];
  return at(backward_ ? place.backward : place.forward, place.wave, t);
}

Matrix<const float> Csx::Tile::gradient(TensorId t) {
  const plan::TensorPlan& place = plan_.tensors[t.index];
  return at(place.gradient, place.gradient_wave, t);
}

kernels::GradientOut<float> Csx::Tile::gradient_out(TensorId t) {
  const std::vector<TensorId> inputs = op_inputs(graph_[visit_.stage].ops[op_]);
  const auto which = static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), t) - inputs.begin());
  WSC_ASSERT(which < inputs.size());
  const plan::TensorPlan& place = plan_.tensors[t.index];
  return {at(place.gradient, place.gradient_wave, t), !plan_.overwrites[visit_.stage.index][op_][which]};
}

Matrix<const float> Csx::Tile::weight(WeightId w) {
  const Weight& weight = graph_[w];
  return Matrix<const float>(blocks_.weights[index_of(plan_, graph_, visit_.stream.receives, weight.block)] + weight.offset,
                             extent(weight.rows), extent(weight.columns));
}

Matrix<float> Csx::Tile::weight_gradient(WeightId w) {
  const Weight& weight = graph_[w];
  return Matrix<float>(blocks_.gradients[index_of(plan_, graph_, visit_.stream.gradients, weight.block)] + weight.offset,
                       extent(weight.rows), extent(weight.columns));
}

Vector<float> Csx::Tile::workspace() { return Vector<float>(arena_ + plan_.workspace, extent(plan_.workspace_elements)); }

}  // namespace wsc::csx
