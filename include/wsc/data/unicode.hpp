// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wsc::data {

/// A code point in UTF-8 text and the bytes it takes. What is not UTF-8 (overlong forms and surrogates included) comes byte by byte, as
/// `invalid`.
struct CodePoint {
  static constexpr char32_t invalid = 0xFFFFFFFF;
  char32_t value;
  std::size_t bytes;
};
CodePoint code_point_at(std::string_view text, std::size_t at);
std::string to_utf8(char32_t code_point);

bool is_letter(char32_t code_point);  ///< general category L
bool is_number(char32_t code_point);  ///< general category N
bool is_space(char32_t code_point);   ///< property White_Space

}  // namespace wsc::data
