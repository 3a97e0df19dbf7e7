// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wsc::data {

/// Text to token ids and back. Its text form travels with data sets and checkpoints, so that ids can be decoded from them alone.
/// The functions may be called from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Appends the ids of `text`. The end-of-document token is never among them. DataError where the vocabulary lacks a character.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) const = 0;
  /// The bytes of `ids`; those of one id need not be whole UTF-8 characters. The end-of-document token gives nothing, an id outside the
  /// vocabulary U+FFFD.
  virtual std::string decode(std::span<const std::int32_t> ids) const = 0;

  virtual std::string_view kind() const = 0;    ///< "byte", "character" or "bpe"
  virtual std::int64_t vocab_size() const = 0;  ///< end-of-document token included
  virtual std::int64_t eos_id() const = 0;      ///< end of a document; −1 = none
  virtual std::string text() const = 0;         ///< what tokenizer_from_text takes (JSON)

  std::vector<std::int32_t> encode(std::string_view text) const;
  std::string hash() const;  ///< fingerprint of text()
};

/// The 256 bytes, and 256 as end of document.
std::unique_ptr<Tokenizer> byte_tokenizer();

/// One id per code point of `alphabet`, in order; with `eos` one more for the end of a document.
std::unique_ptr<Tokenizer> character_tokenizer(const std::set<char32_t>& alphabet, bool eos);
/// Adds the code points of a UTF-8 text; `where` names it in the DataError for what is not UTF-8.
void add_characters(std::string_view text, const std::string& where, std::set<char32_t>& alphabet);

/// GPT-2's byte-level byte-pair encoding (Sennrich et al. 2016; Radford et al. 2019) from its two files. The end of a document is the token
/// `eos` where the vocabulary has it; in a text it is not special.
std::unique_ptr<Tokenizer> bpe_tokenizer(const std::filesystem::path& vocab_json, const std::filesystem::path& merges_txt,
                                         const std::string& eos = "<|endoftext|>");

/// From Tokenizer::text(). DataError where it is none; `where` says what it was read from.
std::unique_ptr<Tokenizer> tokenizer_from_text(std::string_view text, const std::string& where);

}  // namespace wsc::data
