// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/bpe.hpp"
#include "wsc/data/unicode.hpp"

namespace wsc::data {

namespace {

enum class Class { letter, number, space, other };

Class class_of(char32_t c) {
  if (c == CodePoint::invalid) return Class::other;
  if (is_letter(c)) return Class::letter;
  if (is_number(c)) return Class::number;
  return is_space(c) ? Class::space : Class::other;
}

/// End of the run of one class that begins at `at`; `last` is where its last code point begins.
std::size_t end_of_run(std::string_view text, std::size_t at, Class wanted, std::size_t& last) {
  while (at < text.size()) {
    const CodePoint c = code_point_at(text, at);
    if (class_of(c.value) != wanted) break;
    last = at;
    at += c.bytes;
  }
  return at;
}

std::size_t contraction_at(std::string_view text, std::size_t at) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.substr(at, ending.size()) == ending) return ending.size();
  }
  return 0;
}

/// End of the piece that begins at `at`.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  if (const std::size_t length = contraction_at(text, at)) return at + length;
  // " ?" before letters, numbers or others.
  const std::size_t body = text[at] == ' ' ? at + 1 : at;
  std::size_t last = at;
  if (body < text.size()) {
    const Class kind = class_of(code_point_at(text, body).value);
    if (kind != Class::space) return end_of_run(text, body, kind, last);
  }
  // A run of white space leaves its last one to the word behind it, unless it has only one or the text ends.
  const std::size_t end = end_of_run(text, at, Class::space, last);
  return end == text.size() || last == at ? end : last;
}

}  // namespace

std::vector<std::string_view> gpt2_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_word(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace wsc::data
