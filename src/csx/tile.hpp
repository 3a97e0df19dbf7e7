// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/csx/csx.hpp"
#include "wsc/kernels/op_context.hpp"

namespace wsc::csx {

/// What the ops of a stage see of one tile: views into the arena at the places of the plan, weights in the window, weight gradients
/// in the buffers.
template <class Real>
class Csx::Tile : public kernels::OpContext<Real> {
 public:
  using Sum = kernels::Arithmetic<Real>;

  /// blocks: weights as Real.
  Tile(const Graph& graph, const plan::Plan& plan, const plan::PlannedVisit& visit, float* arena, const WaveRows& rows, RowRange range,
       const VisitBlocks& blocks, const PassNumbers& numbers);

  /// From here on values are taken from where backward finds them.
  void enter_backward() { backward_ = true; }
  /// Backward of this op of the stage comes next: says which input gradients it writes and which it adds to.
  void enter_op(std::size_t op) { op_ = op; }

  const Exec& exec() const override { return exec_; }
  const kernels::Rows& rows() const override { return tile_rows_; }
  Matrix<Real> value(TensorId t) override;
  Matrix<Sum> statistic(TensorId t) override;
  Matrix<const Real> gradient(TensorId t) override;
  kernels::GradientOut<Real> gradient_out(TensorId t) override;
  Matrix<const Real> weight(WeightId w) override;
  Matrix<Sum> weight_gradient(WeightId w) override;
  Vector<Sum> workspace() override;
  Vector<double> row_loss() override { return losses_; }

 private:
  template <class Stored>
  Matrix<Stored> at(plan::Place place, bool wave, TensorId t) const;
  template <class Stored>
  Matrix<Stored> value_at(TensorId t) const;

  const Graph& graph_;
  const plan::Plan& plan_;
  const plan::PlannedVisit& visit_;
  float* arena_;
  RowRange range_;
  const VisitBlocks& blocks_;
  Exec exec_;
  kernels::Rows tile_rows_;
  Vector<double> losses_;
  bool backward_ = false;
  std::size_t op_ = 0;
};

}  // namespace wsc::csx
