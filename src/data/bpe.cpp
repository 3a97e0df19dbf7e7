// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/bpe.hpp"

#include <algorithm>
#include <queue>

#include <nlohmann/json.hpp>

#include "wsc/base/error.hpp"
#include "wsc/data/unicode.hpp"

namespace wsc::data {

namespace {

constexpr std::size_t longest_cached_word = 64, most_cached_words = 1 << 18;

/// A vocabulary entry as bytes; entries that are not made of byte symbols (added later, as plain text) stay as they are.
std::string bytes_of_symbols(const std::string& symbols) {
  static const std::unordered_map<char32_t, char> byte_of = [] {
    std::unordered_map<char32_t, char> m;
    for (int b = 0; b < 256; ++b) m[gpt2_byte_symbols()[static_cast<std::size_t>(b)]] = static_cast<char>(b);
    return m;
  }();
  std::string bytes;
  for (std::size_t at = 0; at < symbols.size();) {
    const CodePoint c = code_point_at(symbols, at);
    const auto found = byte_of.find(c.value);
    if (found == byte_of.end()) return symbols;
    bytes += found->second;
    at += c.bytes;
  }
  return bytes;
}

}  // namespace

const std::array<char32_t, 256>& gpt2_byte_symbols() {
  static const std::array<char32_t, 256> symbols = [] {
    std::array<char32_t, 256> s{};
    char32_t next = 256;
    for (char32_t b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
      s[b] = printable ? b : next++;
    }
    return s;
  }();
  return symbols;
}

BpeTokenizer::BpeTokenizer(std::map<std::string, std::int64_t> vocab, std::vector<std::string> merges, std::string eos,
                           const std::string& where)
    : vocab_(std::move(vocab)), merge_lines_(std::move(merges)), eos_(std::move(eos)) {
  constexpr std::int64_t most_ids = 1 << 24;
  for (const auto& [symbols, id] : vocab_) {
    if (id < 0 || id >= most_ids)
      throw DataError(where + ": token '" + symbols + "' has id " + std::to_string(id) + ", which is out of range");
    if (id >= vocab_size()) bytes_of_.resize(static_cast<std::size_t>(id) + 1);
    std::string& bytes = bytes_of_[static_cast<std::size_t>(id)];
    if (!bytes.empty()) throw DataError(where + ": id " + std::to_string(id) + " occurs twice");
    bytes = bytes_of_symbols(symbols);
  }
  for (std::size_t b = 0; b < 256; ++b) id_of_byte_[b] = id_of(to_utf8(gpt2_byte_symbols()[b]), where);
  if (const auto found = vocab_.find(eos_); found != vocab_.end()) eos_id_ = found->second;
  for (std::size_t i = 0; i < merge_lines_.size(); ++i) add_merge(merge_lines_[i], static_cast<std::int32_t>(i), where);
}

std::size_t BpeTokenizer::HashPair::operator()(const Pair& p) const {
  const std::uint64_t x = std::uint64_t{static_cast<std::uint32_t>(p.left)} << 32 | static_cast<std::uint32_t>(p.right);
  return static_cast<std::size_t>((x ^ x >> 29) * 0x9E3779B97F4A7C15ull >> 7);
}

std::int32_t BpeTokenizer::id_of(const std::string& symbol, const std::string& where) const {
  const auto found = vocab_.find(symbol);
  if (found == vocab_.end())
    throw DataError(where + ": the vocabulary lacks the token '" + symbol + "'. Do vocabulary and merges belong together?");
  return static_cast<std::int32_t>(found->second);
}

void BpeTokenizer::add_merge(const std::string& line, std::int32_t rank, const std::string& where) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
    throw DataError(where + ": merge " + std::to_string(rank + 1) + " is '" + line +
                    "'; two tokens with a blank between them are expected");
  }
  const std::string left = line.substr(0, space), right = line.substr(space + 1);
  const Pair pair{id_of(left, where), id_of(right, where)};
  merges_.try_emplace(pair, Merge{rank, id_of(left + right, where)});
}

const BpeTokenizer::Merge* BpeTokenizer::find_merge(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find({left, right});
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<std::int32_t> BpeTokenizer::encode_word(std::string_view word) const {
  // A linked list of tokens and a queue of possible merges, best rank first, then leftmost: n log n for any word.
  const std::int32_t n = static_cast<std::int32_t>(word.size()), none = -1;
  std::vector<std::int32_t> id(word.size()), next(word.size()), previous(word.size());
  using Candidate = std::pair<std::int32_t, std::int32_t>;  // rank, left node
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](std::int32_t left) {
    if (left == none || next[left] == none) return;
    if (const Merge* m = find_merge(id[left], id[next[left]])) queue.push({m->rank, left});
  };
  for (std::int32_t i = 0; i < n; ++i) {
    id[i] = id_of_byte_[static_cast<unsigned char>(word[static_cast<std::size_t>(i)])];
    next[i] = i + 1 < n ? i + 1 : none;
    previous[i] = i - 1;
  }
  for (std::int32_t i = 0; i < n; ++i) consider(i);
  while (!queue.empty()) {
    const auto [rank, left] = queue.top();
    queue.pop();
    const std::int32_t right = id[left] == none ? none : next[left];
    const Merge* m = right == none ? nullptr : find_merge(id[left], id[right]);
    if (!m || m->rank != rank) continue;  // one of the two has been merged meanwhile
    id[left] = m->result;
    id[right] = none;
    next[left] = next[right];
    if (next[left] != none) previous[next[left]] = left;
    consider(previous[left]);
    consider(left);
  }
  std::vector<std::int32_t> ids;
  for (std::int32_t i = n > 0 ? 0 : none; i != none; i = next[i]) ids.push_back(id[i]);
  return ids;
}

void BpeTokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  const std::lock_guard lock(mutex_);
  for (const std::string_view word : gpt2_words(text)) {
    if (word.size() > longest_cached_word) {
      const auto word_ids = encode_word(word);
      ids.insert(ids.end(), word_ids.begin(), word_ids.end());
      continue;
    }
    if (cache_.size() >= most_cached_words) cache_.clear();
    const auto [entry, is_new] = cache_.try_emplace(std::string(word));
    if (is_new) entry->second = encode_word(word);
    ids.insert(ids.end(), entry->second.begin(), entry->second.end());
  }
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id == eos_id_) continue;
    const bool known = id >= 0 && id < vocab_size() && !bytes_of_[static_cast<std::size_t>(id)].empty();
    text += known ? bytes_of_[static_cast<std::size_t>(id)] : to_utf8(0xFFFD);
  }
  return text;
}

std::string BpeTokenizer::text() const {
  const nlohmann::json all = {{"wsc_tokenizer", 1}, {"kind", "bpe"}, {"eos", eos_}, {"vocab", vocab_}, {"merges", merge_lines_}};
  return all.dump();
}

}  // namespace wsc::data
