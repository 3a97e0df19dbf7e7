// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <variant>

#include "tests/reference/attention.hpp"
#include "tests/reference/cross_entropy.hpp"
#include "tests/reference/elementwise.hpp"
#include "tests/reference/embedding.hpp"
#include "tests/reference/layer_norm.hpp"
#include "tests/reference/linear.hpp"

#include "wsc/graph/graph.hpp"

namespace wsc::reference {

/// The (n, V) logits of one text of n tokens at positions 0 … n − 1, without dropout: every op of the graph in turn, serially and in
/// double. `weights(w)`: the (rows, columns) weight in float.
template <class Weights>
Array logits(const Graph& graph, const Weights& weights, std::span<const std::int32_t> ids) {
  const auto n = static_cast<std::int64_t>(ids.size());
  Data d;
  d.count = d.tokens = n;
  d.training = false;
  d.ids.assign(ids.begin(), ids.end());
  for (std::int64_t t = 0; t < n; ++t) d.token.push_back(static_cast<std::int32_t>(t));
  d.position = d.token;
  d.sample.assign(n, 0);
  d.labels.assign(n, 0);
  d.loss_mask.assign(n, 0);
  d.row_loss.assign(n, 0);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) d.value[TensorId(t)] = Array(n, graph.tensors[t].width);
  for (std::size_t w = 0; w < graph.weights.size(); ++w) {
    Array& a = d.weight[WeightId(w)] = Array(graph.weights[w].rows, graph.weights[w].columns);
    const auto from = weights(WeightId(w));
    for (std::int64_t i = 0; i < a.rows * a.columns; ++i) a.data[i] = from.data()[i];
  }
  for (const Stage& stage : graph.stages)
    for (const Op& op : stage.ops) std::visit([&](const auto& o) { forward(o, d); }, op);
  const auto& head = std::get<CrossEntropy>(graph.stages.back().ops.back());
  Array out(n, head.vocab);
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t v = 0; v < head.vocab; ++v)
      for (std::int64_t c = 0; c < head.width; ++c) out(r, v) += d.value[head.x](r, c) * d.weight[head.table](v, c);
  return out;
}

}  // namespace wsc::reference
