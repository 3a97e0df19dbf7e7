// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/deck.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wsc/base/error.hpp"
#include "wsc/config/registry.hpp"

namespace wsc {
namespace {

const char* const rich = R"([model]
hidden_size = 96   # comments may follow a value
num_heads = 6
initializer_range = 0.1
nonlinearity = GELU_tanh
[optimizer]
optimizer_type = adamw
eps = 1.2345678901234567e-300
weight_decay_rate = 0.30000000000000004
[optimizer.schedule.1]
scheduler = LinearLR
initial_learning_rate = 0
end_learning_rate = 0.1
total_iters = 10
[optimizer.schedule.2]
scheduler = MultiStep
initial_learning_rate = 0.1
gamma = 0.3333333333333333
milestones = 5, 7,9
[train_input]
data_dir = some folder/data
batch_size = 12
[train_input.batch_schedule.1]
batch_size = 4
until_step = 100
[train_input.batch_schedule.2]
batch_size = 8
until_step = 200
[csx]
preset = cs2
)";

TEST(Deck, values_reach_their_fields) {
  const Settings s = parse_settings(rich, "rich");
  EXPECT_EQ(s.model.hidden_size, 96);
  EXPECT_EQ(s.model.nonlinearity, "gelu_tanh");
  EXPECT_EQ(s.optimizer.optimizer_type, "AdamW");
  EXPECT_EQ(s.optimizer.eps, 1.2345678901234567e-300);
  ASSERT_EQ(s.optimizer.schedule.size(), 2u);
  EXPECT_EQ(s.optimizer.schedule[0].scheduler, "Linear");
  EXPECT_EQ(s.optimizer.schedule[0].end_learning_rate, 0.1);
  EXPECT_EQ(s.optimizer.schedule[1].milestones, (std::vector<std::int64_t>{5, 7, 9}));
  EXPECT_EQ(s.train_input.data_dir, "some folder/data");
}

TEST(Deck, derived_values_are_resolved) {
  const Settings s = parse_settings(rich, "rich");
  EXPECT_EQ(s.model.filter_size, 4 * 96);
  EXPECT_EQ(s.eval_input.batch_size, 12);
  EXPECT_EQ(s.csx.memory, 40'000'000'000);
  EXPECT_EQ(parse_settings(rich, "rich", {"--csx.preset=cs3"}).csx.memory, 44'000'000'000);
  EXPECT_EQ(parse_settings(rich, "rich", {"--csx.memory=512MiB"}).csx.memory, 512 << 20);
  EXPECT_EQ(parse_settings("", "empty").csx.memory, 0);
}

TEST(Deck, batch_size_follows_its_schedule) {
  const Settings s = parse_settings(rich, "rich");
  EXPECT_EQ(s.batch_size(0), 4);
  EXPECT_EQ(s.batch_size(99), 4);
  EXPECT_EQ(s.batch_size(100), 8);
  EXPECT_EQ(s.batch_size(199), 8);
  EXPECT_EQ(s.batch_size(200), 12);
}

TEST(Deck, command_line_has_two_forms_and_wins) {
  const Settings s = parse_settings(rich, "rich",
                                    {"--model.num_heads=12", "--runconfig.seed", "-7", "--optimizer.schedule.2.gamma=0.5",
                                     "--csx.waves=auto", "--model.filter_size", "200"});
  EXPECT_EQ(s.model.num_heads, 12);
  EXPECT_EQ(s.runconfig.seed, -7);
  EXPECT_EQ(s.optimizer.schedule[1].gamma, 0.5);
  EXPECT_EQ(s.csx.waves, 0);
  EXPECT_EQ(s.model.filter_size, 200);
}

TEST(Deck, switching_an_option_resets_what_belonged_to_the_old_one) {
  const Settings s = parse_settings("[optimizer]\nbeta1 = 0.5\n", "x", {"--optimizer.optimizer_type=SGD", "--optimizer.momentum=0.9"});
  EXPECT_EQ(s.optimizer.beta1, 0.9);
  EXPECT_EQ(s.optimizer.momentum, 0.9);
}

TEST(Deck, foreign_line_ends_and_marks_are_read) {
  EXPECT_EQ(parse_settings("\xEF\xBB\xBF[model]\r\nnum_heads = 6\r\n", "dos").model.num_heads, 6);
}

TEST(Deck, stored_copy_reads_back_to_the_same_settings) {
  const std::vector<std::string> changes{"--runconfig.max_hours=0.1", "--train_input.mask_documents=true", "--train_input.eos_id=17"};
  const Settings s = parse_settings(rich, "rich", changes);
  const std::string deck = to_deck(s);
  const Settings back = parse_settings(deck, "config.cfg");
  EXPECT_TRUE(differences(s, back).empty());
  EXPECT_EQ(to_deck(back), deck);
  EXPECT_EQ(back.optimizer.eps, s.optimizer.eps);
  EXPECT_EQ(back.optimizer.weight_decay_rate, 0.30000000000000004);
  EXPECT_EQ(back.optimizer.schedule[1].gamma, 0.3333333333333333);
  EXPECT_EQ(back.runconfig.max_hours, 0.1);
  EXPECT_EQ(back.train_input.eos_id, 17);
}

// Each option in turn is set to something else, so that none is lost on the way to a deck and back.
TEST(Deck, stored_copy_keeps_every_option) {
  Settings scratch;
  config::Registry registry(config::Registry::Mode::defaults);
  config::declare(registry, scratch);
  int tried = 0;
  for (const config::Option& option : registry.options()) {
    if (!registry.used(option) || !option.replaced_by.empty()) continue;
    std::string value;
    if (std::holds_alternative<bool*>(option.target)) value = option.default_text == "true" ? "false" : "true";
    if (std::holds_alternative<double*>(option.target)) value = "0.0123";
    if (std::holds_alternative<std::int64_t*>(option.target)) value = option.key() == "cluster.chunk_bytes" ? "4096" : "96";
    if (std::holds_alternative<std::string*>(option.target)) value = option.check.words.empty() ? "elsewhere" : option.check.words.back();
    std::vector<std::string> overrides{"--" + option.key() + "=" + value};
    if (option.key() == "runconfig.eval_frequency") overrides.push_back("--eval_input.data_dir=d");
    if (option.key() == "runconfig.load_checkpoint_states") overrides.push_back("--runconfig.checkpoint_path=c");
    const Settings s = parse_settings("", "x", overrides);
    const Settings back = parse_settings(to_deck(s), "config.cfg");
    EXPECT_TRUE(differences(s, back).empty()) << option.key();
    const auto changed = differences(parse_settings("", "x"), back);
    if (value == option.default_text) continue;
    EXPECT_TRUE(std::ranges::any_of(changed, [&](const SettingDifference& d) { return d.key == option.key(); })) << option.key();
    ++tried;
  }
  EXPECT_GT(tried, 50);
}

TEST(Deck, differences_name_key_values_and_kind) {
  const Settings a = parse_settings(rich, "rich");
  Settings b = parse_settings(rich, "rich", {"--runconfig.max_steps=5", "--optimizer.eps=1e-9", "--cluster.num_csx=4"});
  b.optimizer.schedule.pop_back();
  const auto found = differences(a, b);
  const auto find = [&](const std::string& key) {
    for (const auto& d : found) {
      if (d.key == key) return d;
    }
    ADD_FAILURE() << key;
    return SettingDifference{};
  };
  EXPECT_EQ(find("runconfig.max_steps").kind, SettingKind::free);
  EXPECT_EQ(find("runconfig.max_steps").b, "5");
  EXPECT_EQ(find("optimizer.eps").kind, SettingKind::identity);
  EXPECT_EQ(find("optimizer.eps").b, "1e-9");
  EXPECT_EQ(find("cluster.num_csx").a, "auto");
  EXPECT_EQ(find("optimizer.schedule.2.gamma").a, "0.3333333333333333");
  EXPECT_EQ(find("optimizer.schedule.2.gamma").b, "");
  EXPECT_EQ(differences(b, a).size(), found.size());
}

TEST(Deck, identity_is_what_changes_the_numbers) {
  const auto kind = [](const std::string& change) {
    return differences(parse_settings("", "a"), parse_settings("", "b", {change})).at(0).kind;
  };
  for (const char* change : {"--model.num_heads=6", "--optimizer.beta2=0.9", "--train_input.batch_size=9", "--runconfig.seed=2"}) {
    EXPECT_EQ(kind(change), SettingKind::identity) << change;
  }
  for (const char* change : {"--csx.waves=2", "--train_input.micro_batch_size=2", "--runconfig.log_steps=2", "--cluster.threads=2"}) {
    EXPECT_EQ(kind(change), SettingKind::free) << change;
  }
}

TEST(Deck, overrides_are_told_from_other_arguments) {
  std::vector<std::string> arguments{"inputs/x.cfg", "--json", "--model.num_heads=4", "--csx.waves", "2", "--prompt=a.b"};
  const auto overrides = take_overrides(arguments);
  EXPECT_EQ(overrides, (std::vector<std::string>{"--model.num_heads=4", "--csx.waves", "2"}));
  EXPECT_EQ(arguments, (std::vector<std::string>{"inputs/x.cfg", "--json", "--prompt=a.b"}));
}

TEST(Deck, start_up_table_marks_what_is_not_default) {
  const std::string table = settings_table(parse_settings("", "x", {"--model.num_heads=6"}));
  EXPECT_THAT(table, testing::ContainsRegex("\\* model.num_heads +6\n"));
  EXPECT_THAT(table, testing::ContainsRegex("  model.hidden_size +768\n"));
  EXPECT_THAT(table, testing::Not(testing::HasSubstr("momentum")));  // not in use with AdamW
}

TEST(Help, lists_sections_and_options) {
  EXPECT_THAT(help_text(""), testing::AllOf(testing::HasSubstr("[model]"), testing::HasSubstr("[optimizer.schedule.N]")));
  EXPECT_THAT(help_text("model"), testing::AllOf(testing::HasSubstr("--model.num_heads=..."), testing::HasSubstr("default 12")));
  EXPECT_THAT(help_text("optimizer.schedule"), testing::HasSubstr("--optimizer.schedule.N.total_iters"));
  EXPECT_EQ(help_text("optimizer.schedule"), help_text("optimizer.schedule.N"));
  EXPECT_THAT([] { help_text("modl"); }, testing::ThrowsMessage<SettingsError>(testing::HasSubstr("Did you mean model?")));
}

TEST(Help, the_reference_page_is_up_to_date) {
  std::ifstream in(std::string(WSC_SOURCE_DIR) + "/docs/options.md");
  std::ostringstream stored;
  stored << in.rdbuf();
  EXPECT_TRUE(stored.str() == options_markdown()) << "The options changed: run `wsc docs options > docs/options.md`.";
}

}  // namespace
}  // namespace wsc
