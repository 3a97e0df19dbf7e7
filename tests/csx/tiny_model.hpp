// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/reference/model.hpp"

#include "wsc/csx/resident_weights.hpp"
#include "wsc/models/gpt.hpp"

namespace wsc::csx {

/// A GPT of two layers with random weights, large enough that no term is negligible, and the same model in serial double precision.
struct TinyModel {
  static ModelSettings settings(const std::string& positions, std::int64_t context = 24) {
    ModelSettings m{};
    m.family = "gpt";
    m.hidden_size = 24;
    m.num_hidden_layers = 2;
    m.num_heads = 3;
    m.filter_size = 40;
    m.vocab_size = 31;
    m.max_position_embeddings = context;
    m.position_embedding_type = positions;
    m.share_embedding_weights = positions != "fixed";
    m.nonlinearity = positions == "none" ? "relu" : "gelu";
    m.layer_norm_epsilon = 1e-5;
    m.initializer_range = 0.02;
    m.dropout_rate = m.embedding_dropout_rate = m.attention_dropout_rate = 0.3;  // must not act
    return m;
  }

  explicit TinyModel(const std::string& positions, std::int64_t context = 24)
      : graph(models::build(settings(positions, context))), weights(graph) {
    for (const auto& piece : weights.pieces()) {
      const Param& param = graph[piece.param];
      const RandomKey key(3, "test", param.name, 0);
      const double scale = param.is_vector ? 0.1 : 0.3, middle = param.init.kind == Init::Kind::ones ? 1 : 0;
      for (std::size_t i = 0; i < piece.weight.size(); ++i) piece.weight[i] = static_cast<float>(middle + scale * key.normal(0, i));
    }
  }

  reference::Array reference_logits(std::span<const std::int32_t> ids) const {
    return reference::logits(
        graph, [&](WeightId w) { return weights.weight(w); }, ids);
  }
  /// Of the last token.
  std::vector<double> last_reference_logits(std::span<const std::int32_t> ids) const {
    const reference::Array all = reference_logits(ids);
    return {all.data.end() - all.columns, all.data.end()};
  }

  Graph graph;
  ResidentWeights weights;
};

/// Tokens that look random, all below 31.
inline std::vector<std::int32_t> some_tokens(std::int64_t count) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>((i * i * 7 + 3 * i + 5) % 31));
  return ids;
}

}  // namespace wsc::csx
