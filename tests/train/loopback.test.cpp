// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

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

  /// Chunks are small, so that transfers have several.
  ExitCode run(const Settings& s, int memoryx, int csx) const {
    if (memoryx == 0) return train(s, {.layout = {1, 1}, .streamed = false, .threads = 1}, nullptr);
    std::atomic<int> code{-1};
    const fabric::ChannelSettings channel_settings{
        .chunk_bytes = s.model.vocab_size > 1000 ? 50'000 : 1024, .messages_in_flight = 2, .ordered = s.cluster.ordered()};
    fabric::run_loopback({memoryx, csx}, channel_settings, [&](fabric::Channel& channel) {
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

  /// Rows of a CSV file, by column.
  static std::vector<std::map<std::string, double>> columns(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> names;
    std::vector<std::map<std::string, double>> rows;
    for (std::string line, field; std::getline(file, line);) {
      std::istringstream fields(line);
      if (!names.empty()) rows.emplace_back();
      for (std::size_t i = 0; std::getline(fields, field, ','); ++i)
        rows.empty() ? names.push_back(field) : void(rows.back()[names.at(i)] = std::stod(field));
    }
    return rows;
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

// A vocabulary so large that only the rows of the batch travel to and from the embedding, which one process does not do.
TEST_F(Loopback, RowsOfTheEmbeddingGiveTheWeightsOfOneProcess) {
  const auto with = [&](const std::string& name, const std::string& more) {
    Settings s = settings(name, more + "[eval_input]\nbatch_size=8\ndata_dir=" + (folder_ / "data/train").string() + "\n");
    s.model.vocab_size = 20'000;
    s.runconfig.eval_frequency = 2;
    s.runconfig.eval_steps = 2;
    return s;
  };
  for (const std::string tied : {"[model]\n", "[model]\nshare_embedding_weights=false\n"}) {
    const std::string ordered = tied + "[cluster]\nreduction=ordered\n[csx]\nleaves=8\n";
    for (const auto& [more, bound] : {std::pair{tied, 1e-5}, std::pair{ordered, 0.0}}) {
      const std::string name = "run" + std::to_string(more.size());
      ASSERT_EQ(run(with(name, more), 0, 0), ExitCode::ok);
      int n = 0;
      for (const auto& [memoryx, csx, waves] : {std::array{1, 2, 1}, std::array{3, 1, 2}, std::array{2, 4, 2}}) {
        Settings s = with(name + "-" + std::to_string(n++), more);
        s.csx.waves = waves;
        ASSERT_EQ(run(s, memoryx, csx), ExitCode::ok);
        EXPECT_LE(distance(name + "-" + std::to_string(n - 1), name), bound) << memoryx << "×" << csx << " " << more;
      }
    }
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

// A second of a csx's pass is counted once: the parts never exceed the step, and what is left of it has a name.
TEST_F(Loopback, ThePartsOfAStepAddUpToIt) {
  for (const int csx : {0, 1, 2}) {
    const std::string name = "parts" + std::to_string(csx);
    ASSERT_EQ(run(settings(name, "checkpoint_steps=2\n[csx]\nwaves=2\n"), csx > 0 ? 1 : 0, csx), ExitCode::ok);
    const auto rows = columns(folder_ / name / "metrics.csv");
    ASSERT_EQ(rows.size(), 4u);
    for (const auto& row : rows) {
      double sum = csx == 0 ? row.at("optimizer_s") : 0, waits = 0;
      for (const char* wait : {"wait_first_weights_s", "wait_weights_s", "wait_gradient_buffers_s", "wait_finish_s"}) waits += row.at(wait);
      for (const char* part : {"compute_s", "data_s", "agreement_s", "other_s"}) {
        EXPECT_GE(row.at(part), 0) << part;
        sum += row.at(part);
      }
      EXPECT_NEAR(sum + waits, row.at("step_s"), 1e-4 * row.at("step_s"));
      EXPECT_NEAR(waits, row.at("exposed_wait_s"), 1e-4 * waits);
      EXPECT_GT(row.at("compute_s"), 0);
      EXPECT_GT(row.at("optimizer_s"), 0);
    }
    EXPECT_EQ(rows[0].at("checkpoint_s"), 0);
    EXPECT_GT(rows[2].at("checkpoint_s"), 0);
  }
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

// A power of two moves exponents only.
TEST_F(Loopback, AFixedLossScaleChangesNoBit) {
  ASSERT_EQ(run(settings("plain"), 1, 2), ExitCode::ok);
  ASSERT_EQ(run(settings("scaled", "[precision]\nloss_scaling_factor=4096\n"), 1, 2), ExitCode::ok);
  EXPECT_EQ(distance("plain", "scaled"), 0);
}

// The factor 2^140 / (B·T) is no float: steps overflow until the scale has fallen to 2^134.
TEST_F(Loopback, OverflowsLowerTheLossScaleAndLeaveEverythingElseAsItWas) {
  for (const int csx : {0, 2}) {
    const std::string suffix = std::to_string(csx);
    const auto with = [&](const std::string& name, std::int64_t steps) {
      Settings s = settings(name + suffix, "save_initial_checkpoint=true\n[precision]\nloss_scaling_factor=dynamic\n");
      s.precision.initial_loss_scale = s.precision.max_loss_scale = 0x1p140;
      s.runconfig.max_steps = steps;
      return s;
    };
    const auto file = [&](const std::string& name, int step) {
      return folder_ / (name + suffix) / "checkpoints" / ("checkpoint_" + std::to_string(step) + ".h5");
    };
    ASSERT_EQ(run(with("parts", 4), csx / 2, csx), ExitCode::ok);
    const auto skipped = checkpoint::read_run_state(file("parts", 4));
    EXPECT_EQ(skipped.loss_scale.scale, 0x1p136);
    EXPECT_EQ(skipped.skipped_total, 4);
    EXPECT_EQ(skipped.optimizer_step, 0);
    EXPECT_EQ(skipped.schedule_step, 0);
    for (const auto& array : checkpoint::diff(file("parts", 0), file("parts", 4)).arrays) EXPECT_TRUE(array.bitwise_equal) << array.dataset;

    ASSERT_EQ(run(with("parts", 18), csx / 2, csx), ExitCode::ok) << "goes on with the scale of the checkpoint";
    ASSERT_EQ(run(with("whole", 18), csx / 2, csx), ExitCode::ok);
    const auto parts = checkpoint::read_run_state(file("parts", 18)), whole = checkpoint::read_run_state(file("whole", 18));
    EXPECT_EQ(parts.loss_scale, whole.loss_scale);
    EXPECT_LT(whole.loss_scale.scale, 0x1p136);
    EXPECT_EQ(whole.optimizer_step, 18 - whole.skipped_total);
    EXPECT_GT(whole.optimizer_step, 3);
    EXPECT_EQ(checkpoint::diff(file("parts", 18), file("whole", 18)).model_relative_norm, 0);
    EXPECT_GT(checkpoint::diff(file("whole", 0), file("whole", 18)).model_relative_norm, 0);
  }
}

TEST_F(Loopback, AnOverflowAtTheSmallestLossScaleEndsTheRun) {
  Settings s = settings("smallest", "[precision]\nloss_scaling_factor=dynamic\n");
  s.precision.initial_loss_scale = s.precision.max_loss_scale = 0x1p150;
  s.precision.min_loss_scale = 0x1p149;
  EXPECT_EQ(run(s, 0, 0), ExitCode::numerical);
}

// Rounding makes the weights jump between neighbours, so layouts agree less closely than in fp32; added up in one order they agree exactly.
TEST_F(Loopback, WeightsOfSixteenBitsOnTheWire) {
  ASSERT_EQ(run(settings("exact"), 0, 0), ExitCode::ok);
  for (const std::string format : {"bf16", "fp16", "cb16"}) {
    const std::string wire = "[precision]\nwire_weights=" + format + "\n";
    ASSERT_EQ(run(settings(format, wire), 0, 0), ExitCode::ok);
    const double rounding = distance(format, "exact");
    EXPECT_GT(rounding, 0);
    EXPECT_LT(rounding, 0.05);
    ASSERT_EQ(run(settings(format + "-2x3", wire), 2, 3), ExitCode::ok);
    EXPECT_LT(distance(format + "-2x3", format), 0.2 * rounding);
  }
  const std::string ordered = "[precision]\nwire_weights=bf16\n[cluster]\nreduction=ordered\n[csx]\nleaves=4\n";
  ASSERT_EQ(run(settings("one", ordered), 0, 0), ExitCode::ok);
  ASSERT_EQ(run(settings("many", ordered + "waves=2\n"), 3, 2), ExitCode::ok);
  EXPECT_EQ(distance("one", "many"), 0);
}

TEST_F(Loopback, WithWeightsOfSixteenBitsARunGoesOnBitwise) {
  const std::string wire = "[precision]\nwire_weights=bf16\n";
  ASSERT_EQ(run(settings("whole", wire), 3, 2), ExitCode::ok);
  Settings half = settings("parts", wire);
  half.runconfig.max_steps = 2;
  ASSERT_EQ(run(half, 3, 2), ExitCode::ok);
  ASSERT_EQ(run(settings("parts", wire), 3, 2), ExitCode::ok);
  EXPECT_EQ(distance("parts", "whole"), 0);
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
