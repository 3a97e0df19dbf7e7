// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wsc/data/tokenizer.hpp"

namespace wsc::data {

/// The pieces that GPT-2 encodes one by one; together they are the text. As its regular expression
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+  cuts them.
std::vector<std::string_view> gpt2_words(std::string_view text);

/// GPT-2's printable stand-in for each byte: itself where it is printable and no space, else the next free code point from 256 on.
const std::array<char32_t, 256>& gpt2_byte_symbols();

class BpeTokenizer final : public Tokenizer {
 public:
  /// `vocab`: symbols → ids; `merges`: "left right", best first; `where` names their origin in messages.
  BpeTokenizer(std::map<std::string, std::int64_t> vocab, std::vector<std::string> merges, std::string eos, const std::string& where);

  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::string_view kind() const override { return "bpe"; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(bytes_of_.size()); }
  std::int64_t eos_id() const override { return eos_id_; }
  std::string text() const override;

 private:
  struct Merge {
    std::int32_t rank, result;
  };
  struct Pair {
    std::int32_t left, right;
    bool operator==(const Pair&) const = default;
  };
  struct HashPair {
    std::size_t operator()(const Pair& p) const;
  };

  std::int32_t id_of(const std::string& symbol, const std::string& where) const;
  void add_merge(const std::string& line, std::int32_t rank, const std::string& where);
  const Merge* find_merge(std::int32_t left, std::int32_t right) const;
  std::vector<std::int32_t> encode_word(std::string_view word) const;

  std::map<std::string, std::int64_t> vocab_;
  std::vector<std::string> merge_lines_;
  std::string eos_;
  std::int64_t eos_id_ = -1;
  std::vector<std::string> bytes_of_;  ///< by id; empty for ids that the vocabulary leaves out
  std::array<std::int32_t, 256> id_of_byte_{};
  std::unordered_map<Pair, Merge, HashPair> merges_;

  mutable std::mutex mutex_;  ///< guards the cache
  mutable std::unordered_map<std::string, std::vector<std::int32_t>> cache_;
};

}  // namespace wsc::data
