// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "wsc/data/token_file.hpp"
#include "wsc/data/tokenizer.hpp"
#include "wsc/hdf5/file.hpp"

namespace wsc::data {

/// Writes examples_<i>.h5 into a folder: dataset `data`, root attributes n_examples (n_tokens for a corpus), vocab_size, eos_id,
/// tokenizer, tokenizer_hash, and the tokenizer's text as dataset `tokenizer`. SystemError where writing fails.
class TokenWriter {
 public:
  struct Layout {
    Form form;
    std::int64_t sequence_length;   ///< T; unused for a corpus
    std::int64_t samples_per_file;  ///< unused for a corpus, which is one file
  };

  TokenWriter(std::filesystem::path folder, const Layout& layout, const Tokenizer& tokenizer);

  void add_sample(std::span<const std::int32_t> rows);    ///< (3 or 5, T)
  void add_tokens(std::span<const std::int32_t> tokens);  ///< of a corpus
  void finish();

  std::int64_t samples() const { return samples_; }
  std::int64_t tokens() const { return tokens_; }  ///< of a corpus
  std::int64_t files() const { return files_; }

 private:
  struct Output {
    std::filesystem::path path;
    hdf5::File file;
    hdf5::Dataset data;
  };

  std::int64_t sample_elements() const { return (layout_.form == Form::vsl ? 5 : 3) * layout_.sequence_length; }
  void open_file();
  void flush();
  void close_file();

  std::filesystem::path folder_;
  Layout layout_;
  const Tokenizer& tokenizer_;
  std::optional<Output> output_;
  std::vector<std::int32_t> buffer_;  ///< whole samples, or tokens of a corpus
  std::int64_t samples_ = 0, tokens_ = 0, files_ = 0;
};

/// Element type of a corpus: the smallest of uint8, uint16 and int32 that holds all ids.
hdf5::Type corpus_type(std::int64_t vocab_size);

/// Makes a file's (or folder's) content durable.
void sync_path(const std::filesystem::path& path);

}  // namespace wsc::data
