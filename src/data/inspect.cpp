// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/inspect.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "wsc/base/error.hpp"
#include "wsc/data/batch.hpp"
#include "wsc/data/dataset.hpp"
#include "wsc/data/tokenizer.hpp"

namespace fs = std::filesystem;

namespace wsc::data {

namespace {

constexpr std::int64_t corpus_window = 1024;  // for looking at a corpus: its use decides the real one

/// The data sets that a path stands for: itself, or train/ and val/ below it.
std::vector<fs::path> parts_of(const fs::path& path) {
  std::vector<fs::path> parts;
  for (const char* part : {"train", "val"}) {
    if (fs::is_directory(path / part)) parts.push_back(path / part);
  }
  return parts.empty() ? std::vector<fs::path>{path} : parts;
}

Dataset open(const fs::path& path, std::int64_t vocab_size) {
  const TokenFileInfo first = TokenFile(token_files(path).front()).info();
  return Dataset(path, {.sequence_length = first.form == Form::corpus ? corpus_window : 0, .vocab_size = vocab_size});
}

Batch read_one(const Dataset& d, std::int64_t sample) {
  Batch b(1, d.sequence_length(), d.has_spans(), d.has_positions());
  d.read(sample, b.rows(0));
  return b;
}

/// One line of printable text.
std::string one_line(std::string text, std::size_t most_bytes) {
  const bool cut = text.size() > most_bytes;
  if (cut) text.resize(most_bytes);
  while (cut && !text.empty() && (text.back() & 0xC0) == 0x80) text.pop_back();  // not in the middle of a character
  if (cut && !text.empty() && (text.back() & 0x80)) text.pop_back();
  std::string line;
  for (const char c : text) line += c == '\n' ? "\\n" : c == '\t' ? "\\t" : static_cast<unsigned char>(c) < 0x20 ? "?" : std::string(1, c);
  return line + (cut ? " ..." : "");
}

std::string tokenizer_line(const Dataset& d) {
  const TokenFileInfo& f = d.files().front();
  std::string line = "  tokenizer  ";
  const std::string text = d.tokenizer_text();
  if (f.tokenizer_hash.empty() && text.empty())
    line += "not recorded";
  else
    line += (text.empty() ? "text not recorded" : std::string(tokenizer_from_text(text, f.path.string())->kind())) + ", hash " +
            f.tokenizer_hash;
  if (f.vocab_size >= 0) line += ", vocab_size " + std::to_string(f.vocab_size);
  if (f.eos_id >= 0) line += ", eos_id " + std::to_string(f.eos_id);
  return line + "\n";
}

std::string first_sample(const Dataset& d) {
  const Batch b = read_one(d, 0);
  std::string ids;
  for (std::size_t i = 0; i < std::min<std::size_t>(12, b.input_ids.size()); ++i) ids += " " + std::to_string(b.input_ids[i]);
  std::string out = "  sample 0  " + ids + " ...\n";
  if (const std::string text = d.tokenizer_text(); !text.empty()) {
    out += "  as text    " + one_line(tokenizer_from_text(text, d.path())->decode(b.input_ids), 100) + "\n";
  }
  return out;
}

std::string info_of(const fs::path& path) {
  const Dataset d = open(path, 0);
  const TokenFileInfo& f = d.files().front();
  std::string out = path.string() + "\n";
  out += "  form       " + std::string(name(d.form())) + ", " + hdf5::name(f.type);
  if (d.form() == Form::corpus) {
    std::int64_t tokens = 0;
    for (const auto& file : d.files()) tokens += file.tokens;
    out += "\n  size       " + std::to_string(tokens) + " tokens";
  } else {
    out += ", (n, " + std::string(d.form() == Form::vsl ? "5" : "3") + ", " + std::to_string(d.sequence_length()) + ")\n  size       " +
           std::to_string(d.size()) + " samples of " + std::to_string(d.sequence_length()) + " tokens";
  }
  out += " in " + std::to_string(d.files().size()) + (d.files().size() == 1 ? " file\n" : " files\n");
  return out + tokenizer_line(d) + first_sample(d);
}

/// Checks one file; the first problem ends its reading.
std::string verify_file(const fs::path& file, VerifyResult& result) {
  const Dataset d = open(file, std::max<std::int64_t>(0, TokenFile(file).info().vocab_size));
  std::int64_t tokens = 0;
  std::int32_t smallest = std::numeric_limits<std::int32_t>::max(), largest = 0;
  for (std::int64_t s = 0; s < d.size(); ++s) {
    const Batch b = read_one(d, s);
    tokens += b.valid_tokens();
    const auto [low, high] = std::minmax_element(b.input_ids.begin(), b.input_ids.end());
    smallest = std::min(smallest, *low);
    largest = std::max(largest, *high);
  }
  result.samples += d.size();
  result.tokens += tokens;
  return file.string() + ": good, " + std::to_string(d.size()) + (d.form() == Form::corpus ? " windows, " : " samples, ") +
         std::to_string(tokens) + " tokens count, ids " + std::to_string(smallest) + " to " + std::to_string(largest);
}

template <class Check>
void attempt(VerifyResult& result, Check check) {
  try {
    if (const std::string line = check(); !line.empty()) result.text += line + "\n";
  } catch (const Error& e) {
    result.ok = false;
    result.text += std::string(e.what()) + "\n";
  }
}

}  // namespace

std::string info(const fs::path& path) {
  std::string out;
  for (const fs::path& part : parts_of(path)) out += info_of(part);
  return out;
}

VerifyResult verify(const fs::path& path) {
  VerifyResult result;
  for (const fs::path& part : parts_of(path)) {
    std::size_t good = 0, all = 0;
    attempt(result, [&] {
      for (const fs::path& file : token_files(part)) {
        attempt(result, [&] {
          ++all;
          const std::string line = verify_file(file, result);
          ++good;
          return line;
        });
      }
      return std::string();
    });
    if (all > 1 && good == all) {
      attempt(result, [&] {
        open(part, 0);  // do the files belong together?
        return std::string();
      });
    }
  }
  result.text += result.ok
                     ? "all good: " + std::to_string(result.samples) + " samples, " + std::to_string(result.tokens) + " tokens count\n"
                     : "not usable as it is: see above\n";
  return result;
}

}  // namespace wsc::data
