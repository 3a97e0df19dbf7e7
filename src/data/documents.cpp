// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/documents.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "wsc/base/error.hpp"

namespace fs = std::filesystem;

namespace wsc::data {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// The extension below .gz or .zst.
std::string kind_of(const fs::path& file) {
  const std::string outer = file.extension().string();
  return outer == ".gz" || outer == ".zst" ? file.stem().extension().string() : outer;
}

bool is_input(const fs::path& file) { return kind_of(file) == ".txt" || kind_of(file) == ".jsonl"; }

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file() && is_input(it->path())) files.push_back(it->path());
  }
  if (error) throw DataError(folder.string() + ": cannot be listed: " + error.message());
  if (files.empty()) throw DataError(folder.string() + ": holds no .txt or .jsonl file (nor one with .gz or .zst)");
  std::sort(files.begin(), files.end());
  return files;
}

/// Calls `use(line, number from 1)` for each line.
template <class Use>
void for_each_line(const fs::path& file, Use use) {
  TextStream stream(file);
  std::string line;
  std::vector<char> buffer(1 << 20);
  std::int64_t number = 0;
  while (const std::size_t n = stream.read(buffer.data(), buffer.size())) {
    std::string_view rest(buffer.data(), n);
    for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      line += rest.substr(0, end);
      use(line, ++number);
      line.clear();
    }
    line += rest;
  }
  if (!line.empty()) use(line, ++number);
}

std::string read_all(const fs::path& file) {
  TextStream stream(file);
  std::string text;
  std::vector<char> buffer(1 << 20);
  while (const std::size_t n = stream.read(buffer.data(), buffer.size())) text.append(buffer.data(), n);
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  return text;
}

std::string text_in(std::string_view line, const std::string& key, const std::string& where) {
  try {
    const nlohmann::json j = nlohmann::json::parse(line);
    if (j.is_object() && j.contains(key) && j[key].is_string()) return j[key].get<std::string>();
  } catch (const nlohmann::json::exception& e) {
    throw DataError(where + ": is not a line of JSON (" + e.what() + ")");
  }
  throw DataError(where + ": has no text under the key '" + key + "'. Name the right key, or mend the line");
}

}  // namespace

bool is_plain_text(const fs::path& file) { return kind_of(file) == ".txt"; }

std::vector<fs::path> input_files(const std::vector<fs::path>& inputs) {
  std::vector<fs::path> files;
  for (const fs::path& input : inputs) {
    std::error_code error;
    if (!fs::exists(input, error)) throw DataError(input.string() + ": no such file or folder");
    if (fs::is_directory(input)) {
      const auto found = files_below(input);
      files.insert(files.end(), found.begin(), found.end());
    } else if (is_input(input)) {
      files.push_back(input);
    } else {
      throw DataError(input.string() + ": is not a known kind of input; known are .txt and .jsonl, each also with .gz or .zst");
    }
  }
  return files;
}

void for_each_document(const std::vector<fs::path>& files, const std::string& jsonl_key, const std::function<void(const Document&)>& use) {
  for (const fs::path& file : files) {
    if (is_plain_text(file)) {
      const Document document{read_all(file), file.string()};
      if (!document.text.empty()) use(document);
      continue;
    }
    for_each_line(file, [&](std::string_view line, std::int64_t number) {
      if (number == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
      const std::string where = file.string() + ":" + std::to_string(number);
      const Document document{text_in(line, jsonl_key, where), where};
      if (!document.text.empty()) use(document);
    });
  }
}

}  // namespace wsc::data
