// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/tokenizer.hpp"

#include <random>

#include "tests/data/temporary_folder.hpp"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "wsc/base/error.hpp"
#include "wsc/data/bpe.hpp"
#include "wsc/data/unicode.hpp"

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace wsc::data {
namespace {

using TokenizerTest = TemporaryFolder;

nlohmann::json cases() { return nlohmann::json::parse(read_file(golden("bpe_cases.json"))); }
std::unique_ptr<Tokenizer> golden_bpe() { return bpe_tokenizer(golden("bpe_vocab.json"), golden("bpe_merges.txt")); }

std::unique_ptr<Tokenizer> characters_of(const std::string& text, bool eos) {
  std::set<char32_t> alphabet;
  add_characters(text, "text", alphabet);
  return character_tokenizer(alphabet, eos);
}

/// From its text again: the same ids, hash and sizes.
void expect_survives_serialisation(const Tokenizer& t, const std::string& sample) {
  const auto again = tokenizer_from_text(t.text(), "test");
  EXPECT_EQ(again->kind(), t.kind());
  EXPECT_EQ(again->hash(), t.hash());
  EXPECT_EQ(again->vocab_size(), t.vocab_size());
  EXPECT_EQ(again->eos_id(), t.eos_id());
  EXPECT_EQ(again->encode(sample), t.encode(sample));
}

TEST_F(TokenizerTest, Bytes) {
  const auto t = byte_tokenizer();
  EXPECT_EQ(t->vocab_size(), 257);
  EXPECT_EQ(t->eos_id(), 256);
  EXPECT_THAT(t->encode("aß\xff"), ElementsAre(97, 0xC3, 0x9F, 0xFF));
  const std::vector<std::int32_t> ids = {97, 256, 98, 257, -1};
  EXPECT_EQ(t->decode(ids), "ab\uFFFD\uFFFD");
  expect_survives_serialisation(*t, "any text");
}

TEST_F(TokenizerTest, Characters) {
  const auto t = characters_of("ab\nöa你", false), with_eos = characters_of("ab\nöa你", true);
  EXPECT_EQ(t->vocab_size(), 5);  // \n a b ö 你, in the order of their code points
  EXPECT_EQ(t->eos_id(), -1);
  EXPECT_THAT(t->encode("你\naöb"), ElementsAre(4, 0, 1, 3, 2));
  EXPECT_EQ(t->decode(t->encode("你\naöb")), "你\naöb");
  EXPECT_EQ(with_eos->vocab_size(), 6);
  EXPECT_EQ(with_eos->eos_id(), 5);
  EXPECT_EQ(with_eos->decode(std::vector<std::int32_t>{1, 5, 6}), "a\uFFFD");
  EXPECT_NE(t->hash(), with_eos->hash());
  EXPECT_NE(t->hash(), characters_of("abc", false)->hash());
  expect_survives_serialisation(*t, "aab");
  expect_survives_serialisation(*with_eos, "aab");
  EXPECT_THAT(message_of<DataError>([&] { t->encode("abé"); }), AllOf(HasSubstr("'é'"), HasSubstr("byte 2")));
  EXPECT_THAT(message_of<DataError>([&] { t->encode("ab\xff"); }), HasSubstr("not UTF-8"));
  EXPECT_THAT(message_of<DataError>([&] { characters_of("a\xc3", false); }), HasSubstr("not UTF-8 at byte 1"));
}

TEST_F(TokenizerTest, Gpt2WordsAreThoseOfTheRegularExpression) {
  for (const auto& c : cases()["cases"]) {
    const std::string text = c["text"];
    std::vector<std::string> words;
    for (const auto w : gpt2_words(text)) words.emplace_back(w);
    EXPECT_EQ(words, c["words"].get<std::vector<std::string>>()) << text;
  }
}

TEST_F(TokenizerTest, BpeIdsAreThoseOfTheTokenizersPackage) {
  const auto t = golden_bpe();
  const auto all = cases();
  EXPECT_EQ(t->vocab_size(), all["vocab_size"]);
  EXPECT_EQ(t->eos_id(), all["eos_id"]);
  for (int round = 0; round < 2; ++round) {  // the second from the cache
    for (const auto& c : all["cases"]) {
      const std::string text = c["text"];
      EXPECT_EQ(t->encode(text), c["ids"].get<std::vector<std::int32_t>>()) << text;
      EXPECT_EQ(t->decode(t->encode(text)), text);
    }
  }
  expect_survives_serialisation(*t, "Shall I compare thee");
}

TEST_F(TokenizerTest, BpeTakesAnyBytes) {
  const auto t = golden_bpe();
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string text(random() % 100, ' ');
    for (char& c : text) c = static_cast<char>(random() % 4 ? random() : ' ');
    EXPECT_EQ(t->decode(t->encode(text)), text);
  }
  const std::string one_word(300'000, 'e');  // must not take quadratic time
  EXPECT_EQ(t->decode(t->encode(one_word)), one_word);
}

TEST_F(TokenizerTest, BpeFilesThatDoNotFitAreRefused) {
  const auto message = [&](const std::string& vocab, const std::string& merges) {
    return message_of<DataError>([&] { bpe_tokenizer(write("v.json", vocab), write("m.txt", merges)); });
  };
  const std::string vocab = read_file(golden("bpe_vocab.json"));
  EXPECT_THAT(message("{\"a\": 1", ""), AllOf(HasSubstr("v.json"), HasSubstr("not valid JSON")));
  EXPECT_THAT(message("[1, 2]", ""), HasSubstr("not a vocabulary"));
  EXPECT_THAT(message("{\"a\": 0}", ""), HasSubstr("lacks the token"));
  EXPECT_THAT(message(vocab, "#version: 0.2\nzq xx\n"), AllOf(HasSubstr("lacks the token 'zq'"), HasSubstr("belong together")));
  EXPECT_THAT(message(vocab, "a b c\n"), HasSubstr("merge 1"));
  EXPECT_THAT(message_of<DataError>([&] { bpe_tokenizer(dir / "none.json", dir / "m.txt"); }), HasSubstr("No such file"));
}

TEST_F(TokenizerTest, DamagedTextsAreRefused) {
  for (const char* text : {"", "{", "[]", "{}", R"({"wsc_tokenizer":1})", R"({"wsc_tokenizer":1,"kind":"word"})",
                           R"({"wsc_tokenizer":2,"kind":"byte"})", R"({"wsc_tokenizer":1,"kind":"bpe","vocab":3})"}) {
    EXPECT_THAT(message_of<DataError>([&] { tokenizer_from_text(text, "x.h5"); }), HasSubstr("x.h5")) << text;
  }
}

TEST_F(TokenizerTest, Utf8) {
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x3000 ? 1 : 97) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    const std::string text = to_utf8(c);
    const CodePoint back = code_point_at(text, 0);
    ASSERT_EQ(back.value, c);
    ASSERT_EQ(back.bytes, text.size());
  }
  for (const std::string bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
                                "\xF8\x88\x80\x80\x80", "\xE4\xBD", "\xC3"}) {
    EXPECT_EQ(code_point_at(bad, 0).value, CodePoint::invalid);
    EXPECT_EQ(code_point_at(bad, 0).bytes, 1u);
  }
}

}  // namespace
}  // namespace wsc::data
