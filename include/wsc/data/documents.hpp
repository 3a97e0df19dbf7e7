// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace wsc::data {

/// The bytes of a file, decompressed where its name ends in .gz or .zst. DataError where it cannot be read or is cut short.
class TextStream {
 public:
  explicit TextStream(const std::filesystem::path& path);
  ~TextStream();
  /// At most `capacity` bytes; 0 at the end only.
  std::size_t read(char* out, std::size_t capacity);

  class Source;  ///< plain, gzip or zstd

 private:
  std::unique_ptr<Source> source_;
};

struct Document {
  std::string text;
  std::string where;  ///< "file" or "file:line", for messages
};

/// The files that `inputs` name, folders searched through, in the order of their paths: .txt and .jsonl, each also with .gz or .zst.
/// DataError for what does not exist, for other kinds of files, and for a folder that holds none.
std::vector<std::filesystem::path> input_files(const std::vector<std::filesystem::path>& inputs);

/// True for a file that is one document (.txt).
bool is_plain_text(const std::filesystem::path& file);

/// Calls `use` with each document: a .txt file is one, a .jsonl file has one per line, under `jsonl_key`. Documents without text are left
/// out. DataError for lines that are no JSON or lack the key.
void for_each_document(const std::vector<std::filesystem::path>& files, const std::string& jsonl_key,
                       const std::function<void(const Document&)>& use);

}  // namespace wsc::data
