// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/csx/generator.hpp"

#include <algorithm>
#include <cmath>

#include "tests/csx/tiny_model.hpp"
#include <gtest/gtest.h>

#include "wsc/csx/sampling.hpp"

namespace wsc::csx {
namespace {

void expect_logits(std::span<const float> got, const std::vector<double>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 0;
  for (const double w : want) largest = std::max(largest, std::fabs(w));
  ASSERT_GT(largest, 0.1) << what << ": the test needs logits that differ";
  for (std::size_t v = 0; v < want.size(); ++v) ASSERT_NEAR(got[v], want[v], 1e-5 * largest) << what << ", token " << v;
}

class GeneratorPositions : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, GeneratorPositions, testing::Values("learned", "fixed", "none"), [](const auto& i) { return i.param; });

// With the cache, token by token, the logits are those of the whole text computed anew in serial double precision.
TEST_P(GeneratorPositions, TokenByTokenEqualsFullRecomputation) {
  const TinyModel model(GetParam());
  const std::vector<std::int32_t> ids = some_tokens(24);
  const reference::Array want = model.reference_logits(ids);
  Generator generator(model.graph, model.weights, 24);
  for (std::size_t i = 0; i < ids.size(); ++i)
    expect_logits(generator.feed({&ids[i], 1}), {&want.data[i * 31], &want.data[(i + 1) * 31]}, "position " + std::to_string(i));
  EXPECT_EQ(generator.length(), 24);
}

TEST_P(GeneratorPositions, PromptInChunksOfAnySize) {
  const TinyModel model(GetParam());
  const std::vector<std::int32_t> ids = some_tokens(24);
  for (const std::int64_t chunk : {1, 5, 23, 24, 100}) {
    Generator generator(model.graph, model.weights, 24, chunk);
    const std::string what = "chunk of " + std::to_string(chunk);
    expect_logits(generator.feed(std::span(ids).first(20)), model.last_reference_logits(std::span(ids).first(20)), what);
    expect_logits(generator.feed(std::span(ids).subspan(20)), model.last_reference_logits(ids), what);
    generator.clear();  // nothing of the text before is left
    expect_logits(generator.feed(std::span(ids).subspan(7, 9)), model.last_reference_logits(std::span(ids).subspan(7, 9)), what);
  }
}

// Without a table of positions the context may be longer than that of the training.
TEST(Generator, ContextBeyondTraining) {
  for (const char* positions : {"fixed", "none"}) {
    const TinyModel model(positions, 8);
    const std::vector<std::int32_t> ids = some_tokens(20);
    Generator generator(model.graph, model.weights, 20, 6);
    expect_logits(generator.feed(ids), model.last_reference_logits(ids), positions);
  }
}

TEST(GeneratorDeathTest, RefusesWhatDoesNotFit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TinyModel model("learned", 4);
  Generator generator(model.graph, model.weights, 4);
  const std::vector<std::int32_t> long_text = some_tokens(5), wrong = {31};
  EXPECT_DEATH(generator.feed(long_text), "precondition");
  EXPECT_DEATH(generator.feed(wrong), "precondition");
  EXPECT_DEATH(generator.feed({}), "precondition");
  EXPECT_DEATH(Generator(model.graph, model.weights, 5), "precondition");  // positions past the table
}

std::vector<std::int32_t> continued(const TinyModel& model, std::int64_t context, const std::vector<std::int32_t>& prompt,
                                    const Continuation& how, std::int64_t chunk = 128) {
  Generator generator(model.graph, model.weights, context, chunk);
  std::vector<std::int32_t> text;
  const std::int64_t count = continue_text(generator, prompt, how, [&](std::int32_t id) { text.push_back(id); });
  EXPECT_EQ(count, static_cast<std::int64_t>(text.size()));
  return text;
}

Continuation greedy(std::int64_t tokens) { return {.max_tokens = tokens, .vocab = 31, .sampling = {.temperature = 0}}; }

/// What continue_text promises, with the whole visible text recomputed for every token.
std::vector<std::int32_t> greedy_recomputed(const TinyModel& model, std::size_t context, std::vector<std::int32_t> window,
                                            std::size_t tokens, std::int64_t vocab = 31) {
  if (window.size() > context - 1) window.erase(window.begin(), window.end() - (context - 1));
  std::vector<std::int32_t> text;
  while (text.size() < tokens) {
    const std::vector<double> logits = model.last_reference_logits(window);
    text.push_back(static_cast<std::int32_t>(std::max_element(logits.begin(), logits.begin() + vocab) - logits.begin()));
    window.push_back(text.back());
    if (window.size() > context) window.erase(window.begin(), window.end() - context / 2);
  }
  return text;
}

TEST_P(GeneratorPositions, GreedyIsTheArgmaxOfAFullRecomputation) {
  const TinyModel model(GetParam());
  const std::vector<std::int32_t> prompt = some_tokens(5);
  EXPECT_EQ(continued(model, 24, prompt, greedy(19)), greedy_recomputed(model, 24, prompt, 19));
}

// A prompt of context length and more, and a context that fills up several times.
TEST_P(GeneratorPositions, LongPromptsAndSlidingWindow) {
  const TinyModel model(GetParam(), 9);
  for (const std::int64_t length : {1, 8, 9, 10, 40}) {
    const std::vector<std::int32_t> prompt = some_tokens(length);
    EXPECT_EQ(continued(model, 9, prompt, greedy(30), 3), greedy_recomputed(model, 9, prompt, 30)) << length;
  }
}

TEST(ContinueText, ContextOfOneToken) {
  const TinyModel model("learned", 1);
  const std::vector<std::int32_t> text = continued(model, 1, {3, 4}, greedy(5));
  std::int32_t before = 4;
  for (const std::int32_t id : text) {
    const std::vector<double> logits = model.last_reference_logits(std::span(&before, 1));
    EXPECT_EQ(id, std::max_element(logits.begin(), logits.end()) - logits.begin());
    before = id;
  }
  EXPECT_EQ(text.size(), 5);
}

TEST(ContinueText, EosEndsTheTextAndIsNoPartOfIt) {
  const TinyModel model("learned");
  const std::vector<std::int32_t> prompt = some_tokens(5), whole = continued(model, 24, prompt, greedy(15));
  Continuation how = greedy(15);
  how.eos = whole[7];
  const auto end = std::find(whole.begin(), whole.end(), how.eos);
  EXPECT_EQ(continued(model, 24, prompt, how), std::vector<std::int32_t>(whole.begin(), end));
}

TEST(ContinueText, PaddedIdsAreNeverDrawn) {
  const TinyModel model("learned");
  const std::vector<std::int32_t> prompt = some_tokens(5);
  for (const std::int64_t vocab : {1, 6, 30}) {
    Continuation how = greedy(15);
    how.vocab = vocab;
    EXPECT_EQ(continued(model, 24, prompt, how), greedy_recomputed(model, 24, prompt, 15, vocab));
    how.sampling = {.temperature = 5};
    how.max_tokens = 200;
    for (const std::int32_t id : continued(model, 24, prompt, how)) EXPECT_LT(id, vocab);
  }
}

TEST(ContinueText, TheSameForTheSameKey) {
  const TinyModel model("learned");
  const auto sampled = [&](std::uint64_t seed, std::uint64_t sample, std::int64_t chunk) {
    return continued(model, 24, some_tokens(9), {.max_tokens = 60, .vocab = 31, .random = RandomKey(seed, "generate", "", sample)}, chunk);
  };
  const std::vector<std::int32_t> first = sampled(1, 0, 128);
  EXPECT_EQ(first.size(), 60);
  EXPECT_EQ(first, sampled(1, 0, 128));
  EXPECT_NE(first, sampled(2, 0, 128));
  EXPECT_NE(first, sampled(1, 1, 128));
}

TEST(ContinueText, NoTokens) {
  const TinyModel model("none");
  EXPECT_TRUE(continued(model, 24, some_tokens(3), greedy(0)).empty());
}

}  // namespace
}  // namespace wsc::csx
