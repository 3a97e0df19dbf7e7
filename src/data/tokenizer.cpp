// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/tokenizer.hpp"

#include <cerrno>
#include <fstream>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "wsc/base/checksum.hpp"
#include "wsc/base/error.hpp"
#include "wsc/data/bpe.hpp"
#include "wsc/data/unicode.hpp"

using nlohmann::json;

namespace wsc::data {

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  encode(text, ids);
  return ids;
}

std::string Tokenizer::hash() const { return fingerprint(text()); }

namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (id == eos) continue;
      text += id >= 0 && id < eos ? std::string(1, static_cast<char>(id)) : to_utf8(0xFFFD);
    }
    return text;
  }

  std::string_view kind() const override { return "byte"; }
  std::int64_t vocab_size() const override { return eos + 1; }
  std::int64_t eos_id() const override { return eos; }
  std::string text() const override { return json{{"wsc_tokenizer", 1}, {"kind", "byte"}, {"eos", eos}}.dump(); }

 private:
  static constexpr std::int32_t eos = 256;
};

class CharacterTokenizer final : public Tokenizer {
 public:
  CharacterTokenizer(const std::set<char32_t>& alphabet, bool eos) : characters_(alphabet.begin(), alphabet.end()), has_eos_(eos) {
    for (const char32_t c : characters_) id_of_.emplace(c, static_cast<std::int32_t>(id_of_.size()));
  }

  void encode(std::string_view text, std::vector<std::int32_t>& ids) const override {
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint c = code_point_at(text, at);
      const auto found = id_of_.find(c.value);
      if (found == id_of_.end()) refuse(c, at);
      ids.push_back(found->second);
      at += c.bytes;
    }
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      if (id == eos_id()) continue;
      const bool known = id >= 0 && id < static_cast<std::int64_t>(characters_.size());
      text += to_utf8(known ? characters_[static_cast<std::size_t>(id)] : char32_t{0xFFFD});
    }
    return text;
  }

  std::string_view kind() const override { return "character"; }
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(characters_.size()) + has_eos_; }
  std::int64_t eos_id() const override { return has_eos_ ? static_cast<std::int64_t>(characters_.size()) : -1; }
  std::string text() const override {
    std::string all;
    for (const char32_t c : characters_) all += to_utf8(c);
    return json{{"wsc_tokenizer", 1}, {"kind", "character"}, {"eos", eos_id()}, {"characters", all}}.dump();
  }

 private:
  [[noreturn]] static void refuse(const CodePoint& c, std::size_t at) {
    const std::string place = " at byte " + std::to_string(at) + " of the text";
    if (c.value == CodePoint::invalid)
      throw DataError("The text is not UTF-8" + place + "; the character tokenizer needs UTF-8 (the byte tokenizer takes anything)");
    throw DataError("The character '" + to_utf8(c.value) + "'" + place +
                    " is not in the tokenizer's vocabulary. Leave it out, or build the data set again from text that has it");
  }

  std::vector<char32_t> characters_;
  std::unordered_map<char32_t, std::int32_t> id_of_;
  bool has_eos_;
};

std::ifstream open(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(with_errno(path.string() + ": cannot be read"));
  return in;
}

json parse(std::string_view text, const std::string& where) {
  try {
    return json::parse(text);
  } catch (const json::exception& e) {
    throw DataError(where + ": is not valid JSON (" + e.what() + ")");
  }
}

std::unique_ptr<Tokenizer> character_from_json(const json& j) {
  std::set<char32_t> alphabet;
  add_characters(j.at("characters").get<std::string>(), "tokenizer", alphabet);
  return character_tokenizer(alphabet, j.at("eos").get<std::int64_t>() >= 0);
}

}  // namespace

std::unique_ptr<Tokenizer> byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

std::unique_ptr<Tokenizer> character_tokenizer(const std::set<char32_t>& alphabet, bool eos) {
  return std::make_unique<CharacterTokenizer>(alphabet, eos);
}

void add_characters(std::string_view text, const std::string& where, std::set<char32_t>& alphabet) {
  char32_t before = CodePoint::invalid;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (c.value == CodePoint::invalid) {
      throw DataError(where + ": is not UTF-8 at byte " + std::to_string(at) +
                      "; the character tokenizer needs UTF-8. Convert it (iconv), or use the byte tokenizer");
    }
    if (c.value != before) alphabet.insert(before = c.value);
    at += c.bytes;
  }
}

std::unique_ptr<Tokenizer> bpe_tokenizer(const std::filesystem::path& vocab_json, const std::filesystem::path& merges_txt,
                                         const std::string& eos) {
  std::ifstream vocab_file = open(vocab_json), merges_file = open(merges_txt);
  const std::string vocab_text{std::istreambuf_iterator<char>(vocab_file), {}};
  std::map<std::string, std::int64_t> vocab;
  try {
    vocab = parse(vocab_text, vocab_json.string()).get<std::map<std::string, std::int64_t>>();
  } catch (const json::exception&) {
    throw DataError(vocab_json.string() + ": is not a vocabulary, a JSON object of tokens and ids");
  }
  std::vector<std::string> merges;
  for (std::string line; std::getline(merges_file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(line);
  }
  return std::make_unique<BpeTokenizer>(std::move(vocab), std::move(merges), eos, vocab_json.string() + " with " + merges_txt.string());
}

std::unique_ptr<Tokenizer> tokenizer_from_text(std::string_view text, const std::string& where) {
  const json j = parse(text, where);
  try {
    if (j.at("wsc_tokenizer").get<int>() > 1) throw DataError(where + ": the tokenizer was written by a newer wsc; use that one");
    const std::string kind = j.at("kind").get<std::string>();
    if (kind == "byte") return byte_tokenizer();
    if (kind == "character") return character_from_json(j);
    if (kind == "bpe") {
      return std::make_unique<BpeTokenizer>(j.at("vocab").get<std::map<std::string, std::int64_t>>(),
                                            j.at("merges").get<std::vector<std::string>>(), j.at("eos").get<std::string>(), where);
    }
    throw DataError(where + ": unknown kind of tokenizer '" + kind + "'");
  } catch (const json::exception& e) {
    throw DataError(where + ": is not a tokenizer that wsc has written (" + e.what() + ")");
  }
}

}  // namespace wsc::data
