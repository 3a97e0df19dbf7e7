// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "wsc/base/log.hpp"
#include "wsc/checkpoint/report.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/data/builder.hpp"
#include "wsc/fabric/world.hpp"
#include "wsc/train/train.hpp"

namespace wsc::train {
namespace {

namespace fs = std::filesystem;

/// Whole trainings of a tiny model, with ranks as threads: every role, the fabric and its window, checkpoints and resume.
class Loopback : public testing::Test {
 protected:
  void SetUp() override {
    log::set_quiet(true);
    folder_ = fs::temp_directory_path() /
              ("wsc-loopback-" + std::to_string(getpid()) + "-" + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    std::ofstream text(folder_ / "text.jsonl");
    for (int d = 0; d < 60; ++d) {
      text << R"({"text": ")";
      for (int i = 0; i < 3 + d * 7 % 13; ++i) text << "abcdefgh"[(d * 5 + i * i) % 8];
      text << "\"}\n";
    }
    text.close();
    data::BuildOptions build;
    build.inputs = {folder_ / "text.jsonl"};
    build.output_dir = folder_ / "data";
    build.max_sequence_length = 16;
    build.pack_sequences = false;  // documents of unequal length: loss masks of unequal length
    data::build_dataset(build);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Settings settings(const std::string& run, const std::string& more = {}) const {
    return parse_settings(
        "[model]\nhidden_size=16\nnum_hidden_layers=2\nnum_heads=2\nvocab_size=257\nmax_position_embeddings=16\ndropout_rate=0.1\n"
        "[optimizer]\nlearning_rate=1e-2\nmax_gradient_norm=1\n[train_input]\nbatch_size=8\ndata_dir=" +
            (folder_ / "data/train").string() + "\n[runconfig]\nmax_steps=4\nlog_steps=1\nmodel_dir=" + (folder_ / run).string() + "\n" +
            more,
        "test");
  }

  ExitCode run(const Settings& s, int memoryx, int csx) const {
    if (memoryx == 0) return train(s, {.layout = {1, 1}, .streamed = false, .threads = 1}, nullptr);
    std::atomic<int> code{-1};
    // Small chunks, so that transfers have several.
    fabric::run_loopback({memoryx, csx}, {.chunk_bytes = 1024, .messages_in_flight = 2}, [&](fabric::Channel& channel) {
      const ExitCode mine = train(s, {.layout = {memoryx, csx}, .streamed = true, .threads = 1}, &channel);
      if (channel.rank().index == 0) code = static_cast<int>(mine);
    });
    return static_cast<ExitCode>(code.load());
  }

  double distance(const std::string& a, const std::string& b, int step = 4) const {
    const auto file = [&](const std::string& run) {
      return folder_ / run / "checkpoints" / ("checkpoint_" + std::to_string(step) + ".h5");
    };
    return checkpoint::diff(file(a), file(b)).model_relative_norm;
  }

  fs::path folder_;
};

TEST_F(Loopback, AllLayoutsWavesAndTilesGiveTheWeightsOfOneProcess) {
  ASSERT_EQ(run(settings("null"), 0, 0), ExitCode::ok);
  struct Case {
    int memoryx, csx;
    const char* more;
  };
  int n = 0;
  for (const Case c : {Case{1, 1, ""}, Case{1, 2, ""}, Case{2, 3, ""}, Case{3, 1, "[csx]\nrecompute=on\nprefetch=0\n"},
                       Case{2, 2, "[csx]\nwaves=2\nprefetch=3\n"}, Case{1, 9, ""}}) {
    const std::string name = "run" + std::to_string(n++);
    ASSERT_EQ(run(settings(name, c.more), c.memoryx, c.csx), ExitCode::ok);
    EXPECT_LE(distance(name, "null"), 1e-5) << c.memoryx << "×" << c.csx << " " << c.more;
  }
}

TEST_F(Loopback, ResumedOnTheSameLayoutBitwiseAndOnAnotherToRounding) {
  ASSERT_EQ(run(settings("whole"), 2, 2), ExitCode::ok);
  Settings half = settings("parts");
  half.runconfig.max_steps = 2;
  ASSERT_EQ(run(half, 2, 2), ExitCode::ok);
  fs::copy(folder_ / "parts", folder_ / "elsewhere", fs::copy_options::recursive);
  ASSERT_EQ(run(settings("parts"), 2, 2), ExitCode::ok);
  EXPECT_EQ(distance("parts", "whole"), 0);
  ASSERT_EQ(run(settings("elsewhere"), 1, 3), ExitCode::ok);
  EXPECT_LE(distance("elsewhere", "whole"), 1e-5);
}

TEST_F(Loopback, ADivergedRunFailsAndSavesNothing) {
  for (const int csx : {0, 2}) {
    Settings s = settings("diverged" + std::to_string(csx));
    s.optimizer.learning_rate = 1e30;
    s.runconfig.checkpoint_steps = 3;
    EXPECT_EQ(run(s, csx == 0 ? 0 : 1, csx), ExitCode::numerical);
    EXPECT_FALSE(fs::exists(folder_ / ("diverged" + std::to_string(csx)) / "checkpoints" / "checkpoint_4.h5"));
    EXPECT_FALSE(fs::exists(folder_ / ("diverged" + std::to_string(csx)) / "checkpoints" / "checkpoint_3.h5"));
  }
}

TEST_F(Loopback, WhatOneRankCannotReadStopsAllOfThemInGoodOrder) {
  Settings s = settings("broken");
  s.train_input.data_dir = (folder_ / "nowhere").string();
  try {
    run(s, 1, 2);
    FAIL() << "should have thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
  }
}

}  // namespace
}  // namespace wsc::train
