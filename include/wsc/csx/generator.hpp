// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wsc/base/view.hpp"
#include "wsc/csx/resident_weights.hpp"
#include "wsc/graph/graph.hpp"
#include "wsc/kernels/cached_attention.hpp"

namespace wsc::csx {

/// The logits of the token after a text, the text given piece by piece: runs the ops of the graph on the new rows only, with a cache of
/// keys and values per attention op. Dropout does not act. One text at a time; after construction nothing allocates.
class Generator {
 public:
  /// context: tokens that the cache holds (with learned positions at most the rows of their table). chunk: rows that go through the model
  /// at once, which bounds the activations. Both outlive the generator: graph, weights.
  Generator(const Graph& graph, const ResidentWeights& weights, std::int64_t context, std::int64_t chunk = 128);

  /// Begins another text.
  void clear() { length_ = 0; }
  /// Appends tokens to the text, at least one: length() + their number must not exceed context(), ids lie below vocab(). Returns the (V)
  /// logits after the last of them, valid until the next call.
  std::span<const float> feed(std::span<const std::int32_t> ids);

  std::int64_t length() const { return length_; }  ///< tokens of the text so far
  std::int64_t context() const { return context_; }
  std::int64_t vocab() const { return head_.vocab; }
  /// Bytes of activations, caches and workspace.
  std::int64_t bytes() const;

 private:
  class Rows;
  void place_tensors();
  void run(std::span<const std::int32_t> ids, bool wants_logits);
  void attend(const Attention& op, Rows& rows, float*& cache) const;
  void last_logits(Rows& rows) const;

  const Graph& graph_;
  const ResidentWeights& weights_;
  CrossEntropy head_;
  std::int64_t context_, chunk_, length_ = 0;
  std::vector<std::int64_t> places_;  // of every tensor in the arena, elements; −1 = it does not exist
  Buffer<float> arena_, cache_, workspace_, logits_;
  Buffer<std::int32_t> ids_, positions_;
  Buffer<std::int64_t> samples_;
};

}  // namespace wsc::csx
