// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/models/gpt.hpp"

#include <cmath>

#include "wsc/base/error.hpp"
#include "wsc/graph/builder.hpp"

namespace wsc::models {
namespace {

Nonlinearity nonlinearity(const std::string& name) {
  if (name == "gelu") return Nonlinearity::gelu;
  if (name == "gelu_tanh") return Nonlinearity::gelu_tanh;
  WSC_EXPECT(name == "relu");
  return Nonlinearity::relu;
}

}  // namespace

// GPT-2/3 (Radford 2019, Brown 2020): x + Attention(LN x), then x + FFN(LN x). Rows of width C, F = filter size, vocabulary V; the
// residual output projections start 1/√(2L) smaller (Radford 2019, section 2.3).
Graph gpt(const ModelSettings& m) {
  Builder b;
  const Init in = truncated_normal(m.initializer_range), out = truncated_normal(m.initializer_range / std::sqrt(2.0 * m.num_hidden_layers));
  const double eps = m.layer_norm_epsilon;
  const std::int64_t C = m.hidden_size, F = m.filter_size, V = m.vocab_size;
  const WeightId words = b.matrix("embedding_layer/word_embeddings/weight", V, C, in, false);

  TensorId x = b.stage("embedding_layer", [&](StageBuilder& s) {
    TensorId e = s.embedding(words);
    if (m.position_embedding_type == "learned")
      e = s.add_positions(e, b.matrix("embedding_layer/position_embeddings/weight", m.max_position_embeddings, C, in, false));
    else if (m.position_embedding_type == "fixed")
      e = s.add_sinusoids(e);
    return s.dropout(e, m.embedding_dropout_rate, "embedding_layer/dropout");
  });
  for (int l = 0; l < m.num_hidden_layers; ++l) {
    const std::string layer = "transformer_decoder/layers/" + std::to_string(l), attn = layer + "/self_attn", ffn = layer + "/ffn/ffn/";
    x = b.stage(attn, [&](StageBuilder& s) {
      TensorId h = s.layer_norm(x, layer + "/norm1", eps);
      h = s.linears(h, {attn + "/proj_q_dense_layer", attn + "/proj_k_dense_layer", attn + "/proj_v_dense_layer"}, C, in);
      h = s.attention(h, m.num_heads, m.attention_dropout_rate, attn);
      return s.residual_linear(x, h, attn + "/proj_output_dense_layer", C, out, m.dropout_rate, attn + "/dropout");
    });
    x = b.stage(layer + "/ffn", [&](StageBuilder& s) {
      TensorId h = s.layer_norm(x, layer + "/norm3", eps);
      h = s.linear_activation(h, ffn + "0/linear_layer", F, in, nonlinearity(m.nonlinearity));
      return s.residual_linear(x, h, ffn + "1/linear_layer", C, out, m.dropout_rate, layer + "/ffn/dropout");
    });
  }
  b.stage("lm_head", [&](StageBuilder& s) {
    const TensorId h = s.layer_norm(x, "transformer_decoder/norm", eps);
    return s.cross_entropy(h, m.share_embedding_weights ? words : b.matrix("lm_head/weight", V, C, in, false));
  });
  return b.finish();
}

Graph build(const ModelSettings& settings) {
  if (settings.family == "gpt") return gpt(settings);
  throw SettingsError("model.family = " + settings.family + " is not a model that this build knows; use gpt.");
}

}  // namespace wsc::models
