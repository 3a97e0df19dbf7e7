// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/csx/resident_weights.hpp"

namespace wsc::csx {

ResidentWeights::ResidentWeights(const Graph& graph) : graph_(graph) {
  for (const Block& block : graph.blocks)
    blocks_.emplace_back(Kokkos::view_alloc(Kokkos::WithoutInitializing, "wsc::csx::resident_weights"),
                         static_cast<std::size_t>(block.elements));
}

std::vector<memoryx::Shard::Piece> ResidentWeights::pieces() {
  std::vector<memoryx::Shard::Piece> all;
  for (std::size_t p = 0; p < graph_.params.size(); ++p) {
    const ParamId id(p);
    const Param& param = graph_[id];
    float* const begin = blocks_[graph_[param.weight].block.index].data() + graph_.offset(id);
    all.push_back({id, 0, param.elements(), {begin, static_cast<std::size_t>(param.elements())}, {}});
  }
  return all;
}

Matrix<const float> ResidentWeights::weight(WeightId w) const {
  const Weight& weight = graph_[w];
  return Matrix<const float>(blocks_[weight.block.index].data() + weight.offset, static_cast<std::size_t>(weight.rows),
                             static_cast<std::size_t>(weight.columns));
}

std::int64_t ResidentWeights::bytes() const {
  std::int64_t elements = 0;
  for (const Block& block : graph_.blocks) elements += block.elements;
  return 4 * elements;
}

}  // namespace wsc::csx
