// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/character_stream.hpp"

#include <algorithm>
#include <utility>

namespace wsc::cli {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Bytes of the character that begins with this one; 1 where none can.
std::size_t character_bytes(char lead) {
  const auto c = static_cast<unsigned char>(lead);
  if (c < 0xC2 || c > 0xF4) return 1;
  return c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
}

/// Bytes at the end of the text that are the beginning of a character.
std::size_t unfinished(std::string_view text) {
  for (std::size_t n = 1; n <= std::min<std::size_t>(3, text.size()); ++n) {
    const char c = text[text.size() - n];
    if (!continues(c)) return character_bytes(c) > n ? n : 0;
  }
  return 0;
}

}  // namespace

std::string CharacterStream::take(std::string_view bytes) {
  std::string text = std::exchange(waiting_, {}) + std::string(bytes);
  const std::size_t held = unfinished(text);
  waiting_ = text.substr(text.size() - held);
  text.resize(text.size() - held);
  return text;
}

std::string CharacterStream::rest() { return std::exchange(waiting_, {}); }

}  // namespace wsc::cli
