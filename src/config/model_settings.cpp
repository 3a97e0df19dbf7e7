// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/registry.hpp"

namespace wsc::config {

void declare(Registry& registry, ModelSettings& s) {
  Section o = registry.section("model", "The network: a decoder of the GPT-2/GPT-3 family", SettingKind::identity);
  o.add("family", s.family, "gpt", one_of({"gpt"}), "Which family of models");
  o.add("hidden_size", s.hidden_size, 768, between(1, 1 << 20), "Width of the residual stream, d");
  o.add("num_hidden_layers", s.num_hidden_layers, 12, between(1, 100000), "Transformer layers, L");
  o.add("num_heads", s.num_heads, 12, between(1, 1 << 20), "Attention heads; must divide hidden_size");
  o.add("filter_size", s.filter_size, 0, between(1, 1 << 24), "Width inside the feed-forward part; auto = 4 * hidden_size")
      .with_word("auto", 0);
  o.add("vocab_size", s.vocab_size, 50257, count, "Tokens in the vocabulary, V");
  o.add("max_position_embeddings", s.max_position_embeddings, 1024, count, "Longest sequence that the model can read").in("tokens");
  o.add("position_embedding_type", s.position_embedding_type, "learned", one_of({"learned", "fixed", "none"}),
        "Positions added to the embedding; fixed = sinusoidal");
  o.add("share_embedding_weights", s.share_embedding_weights, true, anything, "The head uses the token embedding (tied weights)");
  o.add("nonlinearity", s.nonlinearity, "gelu", one_of({"gelu", "gelu_tanh", "relu"}),
        "Activation of the feed-forward part; gelu is the exact one, gelu_tanh OpenAI's approximation");
  o.add("layer_norm_epsilon", s.layer_norm_epsilon, 1e-5, positive, "Added to the variance in LayerNorm");
  o.add("initializer_range", s.initializer_range, 0.02, positive,
        "Standard deviation of the initial weights (normal, cut at two of them); residual output projections get it / sqrt(2 L)");
  o.add("dropout_rate", s.dropout_rate, 0.0, fraction, "Dropout on the output of the attention and feed-forward parts");
  o.add("embedding_dropout_rate", s.embedding_dropout_rate, 0.0, fraction, "Dropout on the embedding");
  o.add("attention_dropout_rate", s.attention_dropout_rate, 0.0, fraction, "Dropout on the attention weights");
}

}  // namespace wsc::config
