// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace wsc::data {

/// Turns documents (ids, end-of-document token included) into samples. Every token but the first of its sequence is predicted exactly
/// once: a sequence longer than T + 1 tokens is cut at stride T, so that the last token of a piece is the first of the next.
class Packer {
 public:
  /// Takes a finished sample, (rows, T); the memory is the packer's.
  using Emit = std::function<void(std::span<const std::int32_t> sample)>;

  virtual ~Packer() = default;
  virtual void add(std::span<const std::int32_t> document) = 0;
  virtual void finish() = 0;  ///< emits what is left
};

/// (3, T): all documents are one sequence; padded at the very end only.
std::unique_ptr<Packer> stream_packer(std::int64_t T, std::int32_t pad_id, Packer::Emit emit);

/// (3, T): every document is a sequence of its own, in samples of its own, padded.
std::unique_ptr<Packer> padding_packer(std::int64_t T, std::int32_t pad_id, Packer::Emit emit);

/// (5, T): every document is a sequence of its own; several share a sample, with attention spans (later tokens in the own piece) and
/// positions. First fit into a bounded number of samples being filled.
std::unique_ptr<Packer> vsl_packer(std::int64_t T, std::int32_t pad_id, Packer::Emit emit);

}  // namespace wsc::data
