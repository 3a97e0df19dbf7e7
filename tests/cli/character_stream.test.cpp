// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/character_stream.hpp"

#include <gtest/gtest.h>

#include "wsc/data/unicode.hpp"

namespace wsc::cli {
namespace {

// Byte by byte, what comes out is whole characters only, and all of them.
TEST(CharacterStream, WholeCharacters) {
  const std::string text = "aß€\U0001F600z";
  CharacterStream stream;
  std::string shown;
  for (const char c : text) {
    const std::string now = stream.take({&c, 1});
    for (std::size_t at = 0; at < now.size();) {
      const data::CodePoint p = data::code_point_at(now, at);
      EXPECT_NE(p.value, data::CodePoint::invalid);
      at += p.bytes;
    }
    shown += now;
  }
  EXPECT_EQ(shown, text);
  EXPECT_EQ(stream.rest(), "");
}

TEST(CharacterStream, PiecesThatCutCharacters) {
  CharacterStream stream;
  EXPECT_EQ(stream.take("x\xE2\x82"), "x");
  EXPECT_EQ(stream.take("\xAC\xF0"), "€");
  EXPECT_EQ(stream.take("\x9F\x98"), "");
  EXPECT_EQ(stream.take("\x80y"), "\U0001F600y");
}

// Bytes that are no UTF-8 come out as they went in, at the latest when the next byte shows that they are none.
TEST(CharacterStream, InvalidBytesPass) {
  CharacterStream stream;
  EXPECT_EQ(stream.take("\x80\xBF\xFF\xC0"), "\x80\xBF\xFF\xC0");
  EXPECT_EQ(stream.take("\xE2"), "");
  EXPECT_EQ(stream.take("a"),
            "\xE2"
            "a");
  EXPECT_EQ(stream.take("\x80\x80\x80\x80"), "\x80\x80\x80\x80");
  EXPECT_EQ(stream.take("b\xF0\x9F"), "b");
  EXPECT_EQ(stream.rest(), "\xF0\x9F");
  EXPECT_EQ(stream.rest(), "");
}

}  // namespace
}  // namespace wsc::cli
