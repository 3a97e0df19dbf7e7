// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "wsc/base/log.hpp"
#include "wsc/checkpoint/report.hpp"
#include "wsc/checkpoint/run_state.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/data/builder.hpp"
#include "wsc/fabric/world.hpp"
#include "wsc/train/train.hpp"

namespace wsc::train {
namespace {

namespace fs = std::filesystem;

/// Trainings of a small model with activations of 16 bits.
class Rounded : public testing::Test {
 protected:
  void SetUp() override {
    log::set_quiet(true);
    folder_ = fs::temp_directory_path() /
              ("wsc-rounded-" + std::to_string(getpid()) + "-" + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    std::ofstream text(folder_ / "text.jsonl");
    for (int d = 0; d < 60; ++d) {
      text << R"({"text": ")";
      for (int i = 0; i < 20 + d * 7 % 13; ++i) text << "abcdefgh"[(d * 5 + i * i) % 8];
      text << "\"}\n";
    }
    text.close();
    data::BuildOptions build;
    build.inputs = {folder_ / "text.jsonl"};
    build.output_dir = folder_ / "data";
    build.max_sequence_length = 16;
    data::build_dataset(build);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Settings settings(const std::string& run, const std::string& compute, int steps, const std::string& more = {}) const {
    return parse_settings(
        "[model]\nhidden_size=32\nnum_hidden_layers=2\nnum_heads=2\nvocab_size=257\nmax_position_embeddings=16\n"
        "[optimizer]\nlearning_rate=3e-3\nmax_gradient_norm=1\n[train_input]\nbatch_size=8\ndata_dir=" +
            (folder_ / "data/train").string() + "\n[runconfig]\nmax_steps=" + std::to_string(steps) +
            "\nlog_steps=1\nsave_initial_checkpoint=true\nmodel_dir=" + (folder_ / run).string() + "\n[precision]\ncompute=" + compute +
            "\n" + more,
        "test");
  }

  ExitCode run(const Settings& s, int memoryx = 0, int csx = 0) const {
    if (memoryx == 0) return train(s, {.layout = {1, 1}, .streamed = false, .threads = 1}, nullptr);
    std::atomic<int> code{-1};
    fabric::run_loopback({memoryx, csx}, {.chunk_bytes = 4096, .messages_in_flight = 2}, [&](fabric::Channel& channel) {
      const ExitCode mine = train(s, {.layout = {memoryx, csx}, .streamed = true, .threads = 1}, &channel);
      if (channel.rank().index == 0) code = static_cast<int>(mine);
    });
    return static_cast<ExitCode>(code.load());
  }

  fs::path file(const std::string& run, int step) const {
    return folder_ / run / "checkpoints" / ("checkpoint_" + std::to_string(step) + ".h5");
  }

  std::vector<double> losses(const std::string& run) const {
    std::ifstream rows(folder_ / run / "metrics.csv");
    std::vector<double> all;
    std::string line;
    std::getline(rows, line);
    while (std::getline(rows, line)) all.push_back(std::stod(line.substr(line.find(',') + 1)));
    return all;
  }

  fs::path folder_;
};

constexpr const char* dynamic = "loss_scaling_factor=dynamic\n";

TEST_F(Rounded, ThirtyStepsFollowThoseInFp32) {
  ASSERT_EQ(run(settings("fp32", "fp32", 30)), ExitCode::ok);
  const std::vector<double> want = losses("fp32");
  ASSERT_EQ(want.size(), 30u);
  EXPECT_LT(want.back(), want.front() / 2);  // there is something to follow
  struct Case {
    const char *compute, *more;
    double bound;
  };
  for (const Case c : {Case{"bf16", "", 1e-2}, Case{"fp16", dynamic, 2e-3}, Case{"cb16", dynamic, 4e-3}}) {
    ASSERT_EQ(run(settings(c.compute, c.compute, 30, c.more)), ExitCode::ok);
    const std::vector<double> got = losses(c.compute);
    ASSERT_EQ(got.size(), want.size());
    EXPECT_NE(got.back(), want.back());  // it is another format
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], c.bound * want[i]) << c.compute << ", step " << i + 1;
  }
}

// Layouts differ in fp32 sums only; what they round to 16 bits is the same but for a few last places.
TEST_F(Rounded, LayoutsAndWavesGiveNearlyTheSameWeights) {
  ASSERT_EQ(run(settings("one", "bf16", 4)), ExitCode::ok);
  ASSERT_EQ(run(settings("many", "bf16", 4, "[csx]\nwaves=2\nrecompute=on\n"), 2, 2), ExitCode::ok);
  EXPECT_LE(checkpoint::diff(file("one", 4), file("many", 4)).model_relative_norm, 2e-3);
}

TEST_F(Rounded, ResumedBitwise) {
  for (const int csx : {0, 2}) {
    const std::string whole = "whole" + std::to_string(csx), parts = "parts" + std::to_string(csx);
    ASSERT_EQ(run(settings(whole, "bf16", 6), csx / 2, csx), ExitCode::ok);
    ASSERT_EQ(run(settings(parts, "bf16", 3), csx / 2, csx), ExitCode::ok);
    ASSERT_EQ(run(settings(parts, "bf16", 6), csx / 2, csx), ExitCode::ok);
    for (const auto& array : checkpoint::diff(file(whole, 6), file(parts, 6)).arrays) EXPECT_TRUE(array.bitwise_equal) << array.dataset;
  }
}

// With scale 2^30 the gradient of the logits overflows fp16: steps are skipped, and nothing changes, until the scale has fallen far enough.
TEST_F(Rounded, OverflowInFp16IsSkippedAndLeavesEverythingElseAsItWas) {
  const auto with = [&](int steps) {
    Settings s = settings("overflow", "fp16", steps, dynamic);
    s.precision.initial_loss_scale = s.precision.max_loss_scale = 0x1p30;
    return s;
  };
  ASSERT_EQ(run(with(4)), ExitCode::ok);
  const auto skipped = checkpoint::read_run_state(file("overflow", 4));
  EXPECT_EQ(skipped.skipped_total, 4);
  EXPECT_EQ(skipped.optimizer_step, 0);
  EXPECT_EQ(skipped.loss_scale.scale, 0x1p26);
  for (const auto& array : checkpoint::diff(file("overflow", 0), file("overflow", 4)).arrays)
    EXPECT_TRUE(array.bitwise_equal) << array.dataset;
  ASSERT_EQ(run(with(24)), ExitCode::ok);
  const auto after = checkpoint::read_run_state(file("overflow", 24));
  EXPECT_GT(after.optimizer_step, 5);
  EXPECT_EQ(after.optimizer_step, 24 - after.skipped_total);
  EXPECT_GT(checkpoint::diff(file("overflow", 0), file("overflow", 24)).model_relative_norm, 0);
}

}  // namespace
}  // namespace wsc::train
