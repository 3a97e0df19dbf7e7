// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "wsc/base/random.hpp"

namespace wsc::csx {

class Generator;

/// How a token is drawn from logits: softmax(logits / temperature), of the top_k most probable tokens, of the fewest of these whose
/// probabilities (relative to the top_k) reach top_p.
struct Sampling {
  double temperature = 1;  ///< ≥ 0; 0 = greedy: always the most probable token
  std::int64_t top_k = 0;  ///< 0 = all
  double top_p = 1;        ///< 0 < p ≤ 1; 1 = all
};

/// A token that can be drawn.
struct Candidate {
  std::int32_t id;
  double probability;
};

/// All tokens that can be drawn, the most probable first, the lower id first where two are equally so; their probabilities add up to 1.
/// logits: of the ids 0, 1, …, at least one. Throws NumericalError where one of them is not finite.
std::vector<Candidate> candidates(std::span<const float> logits, const Sampling& sampling);

/// The candidate at which the sum of the probabilities passes u, 0 ≤ u < 1.
std::int32_t draw(std::span<const Candidate> candidates, double u);

/// What a text is continued with.
struct Continuation {
  std::int64_t max_tokens = 100;
  std::int64_t vocab = 0;  ///< ids from here on are never drawn: a model's vocabulary may be padded
  std::int64_t eos = -1;   ///< ends the text and is not part of it; −1 = none
  Sampling sampling;
  RandomKey random;  ///< the i-th token's number is element i: the same text for the same key, whatever the threads
};

/// Tokens of a prompt that the model sees: one less than the context, so that there is room for a new one (1 where the context is 1).
std::int64_t longest_prompt(std::int64_t context);

/// Continues a prompt (at least one token) and hands over every new token. A prompt that is too long loses its beginning. Where the
/// context is full, the window slides: the last half of the context (the newest token included) becomes the text that the model sees,
/// at positions from 0 on. Returns the number of tokens handed over.
std::int64_t continue_text(Generator& generator, std::span<const std::int32_t> prompt, const Continuation& how,
                           const std::function<void(std::int32_t)>& take);

}  // namespace wsc::csx
