// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/models/gpt.hpp"

namespace wsc::memoryx {

/// Two layers, 4 heads, learned positions of 31 tokens.
inline Graph small_gpt(std::int64_t vocab_size = 257, std::int64_t hidden_size = 64, bool tied = true) {
  ModelSettings m{};
  m.family = "gpt";
  m.hidden_size = hidden_size;
  m.num_hidden_layers = 2;
  m.num_heads = 4;
  m.filter_size = 4 * hidden_size;
  m.vocab_size = vocab_size;
  m.max_position_embeddings = 31;
  m.position_embedding_type = "learned";
  m.share_embedding_weights = tied;
  m.nonlinearity = "gelu";
  m.layer_norm_epsilon = 1e-5;
  m.initializer_range = 0.02;
  return models::gpt(m);
}

}  // namespace wsc::memoryx
