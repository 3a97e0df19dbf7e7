// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "wsc/hdf5/file.hpp"

namespace wsc::data {

/// The three layouts of dataset `data` (Model Zoo): sample (n, 3, T): input_ids, attention_mask (really the loss mask), labels;
/// vsl (n, 5, T): the same, attention_span, position_ids; corpus (tokens): one run of ids, cut into windows when it is read.
enum class Form { sample, vsl, corpus };
const char* name(Form form);

/// What one file says about itself.
struct TokenFileInfo {
  std::filesystem::path path;
  Form form = Form::sample;
  hdf5::Type type = hdf5::Type::i32;
  std::int64_t samples = 0;          ///< n; 0 for a corpus
  std::int64_t sequence_length = 0;  ///< T; 0 for a corpus
  std::int64_t tokens = 0;           ///< of a corpus
  std::string tokenizer_hash;        ///< empty where it is not recorded
  std::int64_t vocab_size = -1;      ///< −1 where it is not recorded
  std::int64_t eos_id = -1;          ///< −1: none, or not recorded
};

/// One HDF5 token file, open. Throws DataError where it is no token file: no dataset `data`, wrong shape, no integers, or fewer samples
/// than its root attribute n_examples promises. (Without that attribute the shape counts.)
class TokenFile {
 public:
  explicit TokenFile(const std::filesystem::path& path);

  const TokenFileInfo& info() const { return info_; }

  /// A whole sample, (3 or 5, T), whatever integers the file holds.
  void read_sample(std::int64_t sample, std::vector<std::int64_t>& out) const;
  /// Tokens first … first + count − 1 of a corpus.
  void read_tokens(std::int64_t first, std::int64_t count, std::vector<std::int64_t>& out) const;
  /// The tokenizer's serialised text; empty where there is none.
  std::string tokenizer_text() const;

 private:
  hdf5::File file_;
  hdf5::Dataset data_;
  TokenFileInfo info_;
};

/// The *.h5 files of a folder in natural order (examples_2 before examples_10), or the one file that `path` is.
/// Throws DataError where there is none, or where the folder is an unfinished output of `wsc data build`.
std::vector<std::filesystem::path> token_files(const std::filesystem::path& path);

}  // namespace wsc::data
