// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wsc/base/error.hpp"
#include "wsc/config/deck.hpp"

/// Every kind of bad input and the sentence that the user gets.
namespace wsc {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string message(const std::string& deck, const std::vector<std::string>& overrides = {}) {
  try {
    parse_settings(deck, "x.cfg", overrides);
  } catch (const SettingsError& error) {
    EXPECT_EQ(error.code(), ExitCode::settings);
    return error.what();
  }
  return "(accepted)";
}

TEST(Errors, unknown_key_names_the_nearest_and_the_place) {
  EXPECT_EQ(message("", {"--model.num_head=12"}),
            "unknown setting model.num_head (command line). Did you mean model.num_heads? `wsc train --help model` lists the section.");
  EXPECT_EQ(message("\n[model]\n# a comment\nhiden_size = 3\n"),
            "unknown setting model.hiden_size (x.cfg:4). Did you mean model.hidden_size? `wsc train --help model` lists the section.");
  EXPECT_THAT(message("[model]\nfavourite_colour = blue\n"),
              AllOf(StartsWith("unknown setting model.favourite_colour (x.cfg:2)."), HasSubstr("--help model")));
  EXPECT_THAT(message("", {"--modle.num_heads=12"}), HasSubstr("Did you mean model.num_heads?"));
  EXPECT_THAT(message("", {"--zzz"}), HasSubstr("unknown setting zzz (command line)"));
}

TEST(Errors, right_key_in_the_wrong_section) {
  EXPECT_THAT(message("[model]\nlearning_rate = 1e-3\n"),
              StartsWith("unknown setting model.learning_rate (x.cfg:2). Did you mean optimizer.learning_rate"));
  EXPECT_THAT(message("[runconfig]\nnum_csx = 2\n"), HasSubstr("Did you mean cluster.num_csx?"));
  EXPECT_THAT(message("hidden_size = 3\n"), AllOf(HasSubstr("It stands in no section"), HasSubstr("model.hidden_size")));
  EXPECT_THAT(message("[optimizer]\ntotal_iters = 3\n"), HasSubstr("optimizer.schedule.N.total_iters"));
}

TEST(Errors, unknown_section) {
  EXPECT_EQ(message("[modle]\n"), "unknown section [modle] (x.cfg:1). Did you mean [model]?");
  EXPECT_THAT(message("[]\n"), HasSubstr("x.cfg:1"));
  EXPECT_THAT(message("[training things]\n"), HasSubstr("Sections are model, optimizer"));
}

TEST(Errors, wrong_type) {
  EXPECT_EQ(message("", {"--optimizer.learning_rate=3e-4x"}),
            "optimizer.learning_rate = 3e-4x (command line) is not a number; write it like 0.001 or 1e-3.");
  EXPECT_EQ(message("[runconfig]\nmax_steps = 1e3\n"), "runconfig.max_steps = 1e3 (x.cfg:2) is not a whole number: write 1000.");
  EXPECT_THAT(message("[model]\nnum_heads = twelve\n"), HasSubstr("model.num_heads = twelve (x.cfg:2) is not a whole number"));
  EXPECT_EQ(message("[model]\nnum_heads = 99999999999999999999\n"), "model.num_heads = 99999999999999999999 (x.cfg:2) is too large.");
  EXPECT_THAT(message("[csx]\nwaves = many\n"), HasSubstr("is not a whole number, or auto"));
  EXPECT_THAT(message("[csx]\nmemory = 40G\n"), HasSubstr("write bytes or a number with a unit, such as 512MiB or 40GB"));
  EXPECT_THAT(message("[model]\nshare_embedding_weights = maybe\n"), HasSubstr("must be true or false"));
  EXPECT_THAT(message("[optimizer]\noptimizer_type = AdamX\n"),
              HasSubstr("optimizer.optimizer_type = AdamX (x.cfg:2) is not one of AdamW | Adam | SGD. Did you mean Adam"));
  EXPECT_THAT(message("[optimizer]\nlearning_rate = nan\n"), HasSubstr("is not a number"));
}

TEST(Errors, out_of_range) {
  EXPECT_EQ(
      message("[model]\nnum_heads = -3\n"),
      "model.num_heads = -3 (x.cfg:2) is out of range: it must be at least 1 and at most 1048576. `wsc train --help model` describes it.");
  EXPECT_THAT(message("[optimizer]\nbeta1 = 1\n"), HasSubstr("it must be at least 0 and less than 1"));
  EXPECT_THAT(message("[optimizer]\neps = 0\n"), HasSubstr("it must be greater than 0"));
  EXPECT_THAT(message("[cluster]\nchunk_bytes = 3GB\n"), HasSubstr("at most 1073741824"));
}

TEST(Errors, empty_values) {
  EXPECT_EQ(message("[model]\nnum_heads =\n"),
            "model.num_heads (x.cfg:2) is empty. Give a value, or leave the line out for the default 12.");
  EXPECT_EQ(message("", {"--model.num_heads="}), "--model.num_heads (command line) has no value. Write --model.num_heads=VALUE.");
  EXPECT_EQ(message("", {"--model.num_heads"}), "--model.num_heads (command line) has no value. Write --model.num_heads=VALUE.");
  EXPECT_EQ(message("[train_input]\ndata_dir =\n"), "(accepted)");  // an empty text is the default
}

TEST(Errors, given_twice) {
  EXPECT_EQ(message("[model]\nnum_heads = 4\n\nnum_heads = 6\n"),
            "model.num_heads is given twice (x.cfg:2 and x.cfg:4). Keep one of them.");
  EXPECT_EQ(message("", {"--model.num_heads=4", "--model.num_heads=6"}),
            "model.num_heads is given twice (command line). Keep one of them.");
  EXPECT_EQ(message("[model]\nnum_heads = 4\n", {"--model.num_heads=6"}), "(accepted)");  // the command line wins
}

TEST(Errors, not_a_deck) {
  EXPECT_EQ(message("[model]\nnum_heads: 4\n"), "\"num_heads: 4\" (x.cfg:2) is neither [section] nor key = value; comments begin with #.");
  EXPECT_THAT(message("\x89HDF\r\n"), HasSubstr("(x.cfg:1) is neither"));
  EXPECT_THAT(message("", {"stray"}), HasSubstr("unexpected word \"stray\" (command line)"));
  EXPECT_THAT(message("", {"--train_input.data_dir=a#b"}), HasSubstr("has a # or a line break in it"));
  EXPECT_THAT([] { read_settings("/nonexistent/x.cfg"); },
              testing::ThrowsMessage<SettingsError>(HasSubstr("cannot read the deck /nonexistent/x.cfg: No such file")));
  EXPECT_THAT([] { read_settings("/"); }, testing::ThrowsMessage<SettingsError>(HasSubstr("is a folder")));
  const std::filesystem::path inputs = std::filesystem::path(WSC_SOURCE_DIR) / "inputs";
  EXPECT_THAT([&] { read_settings(inputs / "gpt2-smal.cfg"); }, testing::ThrowsMessage<SettingsError>(HasSubstr("gpt2-small.cfg?")));
}

TEST(Errors, numbered_sections) {
  EXPECT_THAT(message("[optimizer.schedule.2]\nscheduler = Constant\n"),
              HasSubstr("[optimizer.schedule.2] is given (x.cfg:1) but [optimizer.schedule.1] is not"));
  EXPECT_THAT(message("[optimizer.schedule]\nscheduler = Constant\n"), HasSubstr("write [optimizer.schedule.1]"));
  EXPECT_THAT(message("[optimizer.schedule.one]\n"), HasSubstr("write [optimizer.schedule.1]"));
  EXPECT_THAT(message("[optimizer.schedule.1]\nscheduler = Constant\nlearning_rat = 1\n"),
              HasSubstr("Did you mean optimizer.schedule.1.learning_rate?"));
  EXPECT_THAT(message("[optimizer.schedule.1]\n"), HasSubstr("optimizer.schedule.1.scheduler must be given"));
  EXPECT_THAT(message("[optimizer.schedule.1]\nscheduler = Constant\n"),
              HasSubstr("optimizer.schedule.1.learning_rate must be given with scheduler = Constant"));
  EXPECT_THAT(message("[train_input.batch_schedule.1]\nbatch_size = 3\n"), HasSubstr("until_step must be given"));
}

TEST(Errors, settings_without_effect) {
  const std::string constant = "[optimizer.schedule.1]\nscheduler = Constant\nlearning_rate = 1e-3\n";
  EXPECT_EQ(message(constant + "power = 2\n"),
            "optimizer.schedule.1.power (x.cfg:4) has no effect with scheduler = Constant: it is for Polynomial. Remove it.");
  EXPECT_THAT(message(constant, {"--optimizer.learning_rate=3e-4"}),
              HasSubstr("optimizer.learning_rate = 3e-4 (command line) has no effect beside [optimizer.schedule.1]"));
  EXPECT_THAT(message("[optimizer]\nmomentum = 0.9\n"), HasSubstr("it is for SGD"));
  EXPECT_THAT(message("[optimizer]\noptimizer_type = SGD\nbeta1 = 0.9\n"), HasSubstr("it is for AdamW, Adam"));
  EXPECT_EQ(message("[optimizer]\noptimizer_type = AdamW\nbeta1 = 0.8\n", {"--optimizer.optimizer_type=SGD"}), "(accepted)");
}

TEST(Errors, contradictions) {
  EXPECT_EQ(
      message("[model]\nhidden_size = 128\nnum_heads = 5\n"),
      "model.num_heads = 5 (x.cfg:3) does not divide model.hidden_size = 128 (x.cfg:2), but each head takes an equal part of the width. "
      "Take 4 or 8 heads.");
  EXPECT_THAT(message("[optimizer]\nmax_gradient_norm = 1\nmax_gradient_value = 1\n"), HasSubstr("cannot be used together"));
  EXPECT_THAT(message("[train_input]\nmax_sequence_length = 2048\n"),
              HasSubstr("is longer than model.max_position_embeddings = 1024 (default)"));
  EXPECT_THAT(message("[eval_input]\nmax_sequence_length = 2048\n"), HasSubstr("eval_input.max_sequence_length"));
  EXPECT_THAT(message("[train_input.batch_schedule.1]\nbatch_size = 3\nuntil_step = 9\n[train_input.batch_schedule.2]\nbatch_size = "
                      "4\nuntil_step = 9\n"),
              HasSubstr("until_step = 9 (x.cfg:6) must be greater than"));
  EXPECT_THAT(message("[cluster]\nfabric = null\nnum_csx = 2\n"), HasSubstr("one process"));
  EXPECT_THAT(message("[runconfig]\neval_frequency = 5\n"), HasSubstr("eval_input.data_dir is not given"));
  EXPECT_THAT(message("[runconfig]\nload_checkpoint_states = model\n"), HasSubstr("needs runconfig.checkpoint_path"));
}

TEST(Errors, schedules_that_cannot_be) {
  const auto piece = [](int n, const std::string& keys) { return "[optimizer.schedule." + std::to_string(n) + "]\n" + keys + "\n"; };
  EXPECT_THAT(message(piece(1, "scheduler=Linear\ninitial_learning_rate=0")), HasSubstr("total_iters must be given and greater than 0"));
  EXPECT_THAT(message(piece(1, "scheduler=Constant\nlearning_rate=1") + piece(2, "scheduler=Constant\nlearning_rate=2")),
              HasSubstr("only the last piece of a schedule can last for ever"));
  EXPECT_THAT(message(piece(1, "scheduler=MultiStep\ninitial_learning_rate=1\nmilestones=5, 3")), HasSubstr("rising"));
  EXPECT_THAT(message(piece(1, "scheduler=PiecewiseConstant\nlearning_rates=1, 2\nmilestones=5, 7")), HasSubstr("one rate more"));
  EXPECT_THAT(message(piece(1, "scheduler=OneCycle\nmax_learning_rate=1\ntotal_iters=2")), HasSubstr("leaves no room"));
  EXPECT_THAT(message(piece(1, "scheduler=Cyclic\nmax_learning_rate=1\ninitial_learning_rate=2")), HasSubstr("must not be below"));
  EXPECT_THAT(message(piece(1, "scheduler=Wobbly")), HasSubstr("is not one of Constant | Linear"));
}

}  // namespace
}  // namespace wsc
