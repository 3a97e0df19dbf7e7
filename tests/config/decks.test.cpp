// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "wsc/config/deck.hpp"

/// The decks in inputs/: each is read, and its size, its tokens and its schedule are those of the published model.
namespace wsc {
namespace {

const std::filesystem::path inputs = std::filesystem::path(WSC_SOURCE_DIR) / "inputs";

std::vector<std::filesystem::path> decks() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(inputs)) {
    if (entry.path().extension() == ".cfg") found.push_back(entry.path());
  }
  return found;
}

// V d + T d + L (12 d² + 13 d) + 2 d: embedding, positions, layers, last norm; head tied, F = 4 d.
std::int64_t parameters(const ModelSettings& m) {
  const std::int64_t d = m.hidden_size;
  return (m.vocab_size + m.max_position_embeddings) * d + m.num_hidden_layers * (12 * d * d + 13 * d) + 2 * d;
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int i = static_cast<int>(text.size()) - 3; i > 0; i -= 3) text.insert(static_cast<std::size_t>(i), 1, ',');
  return text;
}

std::int64_t tokens(const Settings& s) {
  std::int64_t samples = 0;
  for (std::int64_t step = 0; step < s.runconfig.max_steps; ++step) samples += s.batch_size(step);
  return samples * s.train_input.max_sequence_length;
}

TEST(Decks, all_are_there) {
  for (const char* name : {"quickstart",        "tinyshakespeare",   "gpt2-tiny",         "gpt2-small",        "gpt2-medium",
                           "gpt2-large",        "gpt2-xl",           "gpt3-xl",           "gpt3-6.7b",         "cerebras-gpt-111m",
                           "cerebras-gpt-256m", "cerebras-gpt-590m", "cerebras-gpt-1.3b", "cerebras-gpt-2.7b", "cerebras-gpt-6.7b",
                           "cerebras-gpt-13b",  "gigagpt-111m",      "gigagpt-13b",       "gigagpt-70b",       "gigagpt-175b"}) {
    EXPECT_TRUE(std::filesystem::exists(inputs / (std::string(name) + ".cfg"))) << name;
  }
}

TEST(Decks, each_is_read_and_its_stored_copy_too) {
  for (const auto& path : decks()) {
    const Settings s = read_settings(path);
    EXPECT_TRUE(differences(s, parse_settings(to_deck(s), "config.cfg")).empty()) << path;
    EXPECT_EQ(s.model.filter_size, 4 * s.model.hidden_size) << path;
    EXPECT_TRUE(s.model.share_embedding_weights) << path;
    EXPECT_EQ(s.runconfig.model_dir, "runs/" + path.stem().string());
  }
}

TEST(Decks, the_comment_states_the_true_number_of_parameters) {
  for (const auto& path : decks()) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    EXPECT_NE(text.str().find("# Parameters: " + with_commas(parameters(read_settings(path).model)) + "."), std::string::npos) << path;
  }
}

TEST(Decks, parameters_are_the_published_ones) {
  const std::map<std::string, std::int64_t> published{
      {"gpt2-small", 124439808},         {"gpt2-medium", 354823168},        {"gpt2-large", 774030080},
      {"gpt2-xl", 1557611200},           {"gpt3-xl", 1315723264},           {"gpt3-6.7b", 6658404352},
      {"cerebras-gpt-111m", 111050496},  {"cerebras-gpt-256m", 255977024},  {"cerebras-gpt-590m", 590310912},
      {"cerebras-gpt-1.3b", 1315723264}, {"cerebras-gpt-2.7b", 2651553280}, {"cerebras-gpt-6.7b", 6658404352},
      {"cerebras-gpt-13b", 12853386240}, {"gigagpt-111m", 111050496},       {"gigagpt-13b", 12853386240},
      {"gigagpt-70b", 64861528064},      {"gigagpt-175b", 174604259328}};
  for (const auto& [name, count] : published) EXPECT_EQ(parameters(read_settings(inputs / (name + ".cfg")).model), count) << name;
}

// Cerebras-GPT: tokens, systems and training FLOPs of the paper (arXiv:2304.03208, tables 1 and 6), by its convention
// tokens · [3 (24 L d² + 8 L T d + 2 V d) + 4 V d].
TEST(Decks, cerebras_gpt_trains_on_the_published_tokens_and_flops) {
  struct Published {
    const char* name;
    double tokens, flops;  // three and two digits
    int systems;
  };
  const Published table[] = {{"111m", 2.22e9, 2.6e18, 1},  {"256m", 5.12e9, 1.3e19, 1},  {"590m", 1.18e10, 6.1e19, 1},
                             {"1.3b", 2.63e10, 2.8e20, 4}, {"2.7b", 5.30e10, 1.1e21, 4}, {"6.7b", 1.33e11, 6.3e21, 16},
                             {"13b", 2.57e11, 2.3e22, 12}};
  for (const Published& p : table) {
    const Settings s = read_settings(inputs / ("cerebras-gpt-" + std::string(p.name) + ".cfg"));
    const double n = static_cast<double>(tokens(s)), d = static_cast<double>(s.model.hidden_size);
    const double layers = static_cast<double>(s.model.num_hidden_layers), vocabulary = static_cast<double>(s.model.vocab_size);
    const double flops = n * (3 * (24 * layers * d * d + 8 * layers * 2048 * d + 2 * vocabulary * d) + 4 * vocabulary * d);
    EXPECT_NEAR(n / p.tokens, 1.0, 0.005) << p.name;
    EXPECT_NEAR(n / static_cast<double>(parameters(s.model)), 20.0, 0.05) << p.name;
    char two_digits[32];
    std::snprintf(two_digits, sizeof two_digits, "%.1e", flops);
    EXPECT_EQ(std::stod(two_digits), p.flops) << p.name;
    EXPECT_EQ(s.cluster.num_csx, p.systems) << p.name;
    EXPECT_EQ(s.csx.memory, 40'000'000'000) << p.name;
    EXPECT_EQ(s.optimizer.beta2, 0.95);
    EXPECT_EQ(s.optimizer.weight_decay_rate, 0.1);
    EXPECT_EQ(s.optimizer.max_gradient_norm, 1.0);
  }
}

TEST(Decks, cerebras_gpt_13b_raises_its_batch) {
  const Settings s = read_settings(inputs / "cerebras-gpt-13b.cfg");
  EXPECT_EQ(s.batch_size(56'999), 720);
  EXPECT_EQ(s.batch_size(57'000), 1080);
  EXPECT_EQ(s.batch_size(135'222), 1080);
}

TEST(Decks, warm_up_reads_375_million_tokens) {
  for (const char* name : {"111m", "256m", "590m", "1.3b", "2.7b", "6.7b", "13b"}) {
    const Settings s = read_settings(inputs / ("cerebras-gpt-" + std::string(name) + ".cfg"));
    const ScheduleSettings& warm_up = s.optimizer.schedule.at(0);
    EXPECT_NEAR(static_cast<double>(warm_up.total_iters * s.batch_size(0) * 2048), 375e6, 1.3e6) << name;
    EXPECT_EQ(warm_up.total_iters + s.optimizer.schedule.at(1).total_iters, s.runconfig.max_steps) << name;
    EXPECT_NEAR(s.optimizer.schedule[1].end_learning_rate, 0.1 * warm_up.end_learning_rate, 1e-18) << name;
  }
}

}  // namespace
}  // namespace wsc
