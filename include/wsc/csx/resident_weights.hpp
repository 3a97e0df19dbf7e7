// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "wsc/base/view.hpp"
#include "wsc/graph/graph.hpp"
#include "wsc/memoryx/shard.hpp"

namespace wsc::csx {

/// All weights of a model in the memory of one process, 4 bytes a parameter, without gradients or optimizer state: for generation, which
/// reads every weight for every token.
class ResidentWeights {
 public:
  /// Memory for all blocks, not initialised: fill it through pieces(). `graph` must outlive the weights.
  explicit ResidentWeights(const Graph& graph);

  /// Every parameter whole, in the order of the table, without states: what checkpoint::load_pieces fills. The spans stay valid.
  std::vector<memoryx::Shard::Piece> pieces();
  Matrix<const float> weight(WeightId w) const;
  std::int64_t bytes() const;

 private:
  const Graph& graph_;
  std::vector<Buffer<float>> blocks_;
};

}  // namespace wsc::csx
