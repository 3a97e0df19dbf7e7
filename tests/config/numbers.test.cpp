// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/numbers.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "wsc/config/suggest.hpp"

namespace wsc::config {
namespace {

TEST(Numbers, integers_are_read_whole_or_not_at_all) {
  EXPECT_EQ(parse_integer("-42"), -42);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* bad : {"", "1e3", "1.0", "12x", " 3", "0x10", "9223372036854775808"}) EXPECT_FALSE(parse_integer(bad)) << bad;
}

TEST(Numbers, reals_are_read_whole_and_finite) {
  EXPECT_EQ(parse_number("3e-4"), 3e-4);
  EXPECT_EQ(parse_number("-.5"), -0.5);
  for (const char* bad : {"", "3e-4x", "inf", "nan", "1,5", "1e999", "--1"}) EXPECT_FALSE(parse_number(bad)) << bad;
}

TEST(Numbers, text_of_any_double_reads_back_to_the_same_bits) {
  std::mt19937_64 random(7);
  int tried = 0;
  while (tried < 20000) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const auto back = parse_number(number_text(value));
    ASSERT_TRUE(back) << number_text(value);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*back), std::bit_cast<std::uint64_t>(value));
    ++tried;
  }
}

TEST(Numbers, sizes_have_decimal_and_binary_units) {
  EXPECT_EQ(parse_bytes("40GB"), 40'000'000'000);
  EXPECT_EQ(parse_bytes("512MiB"), 536'870'912);
  EXPECT_EQ(parse_bytes("1.5 kb"), 1500);
  EXPECT_EQ(parse_bytes("1.1TB"), 1'100'000'000'000);
  EXPECT_EQ(parse_bytes("17"), 17);
  EXPECT_EQ(parse_bytes("17 B"), 17);
  for (const char* bad : {"", "GB", "40G", "1.5", "0.3B", "40XB", "1e30TB"}) EXPECT_FALSE(parse_bytes(bad)) << bad;
}

TEST(Numbers, switches_have_two_sides) {
  for (const char* yes : {"true", "True", "yes", "on", "1"}) EXPECT_EQ(parse_bool(yes), true);
  for (const char* no : {"false", "No", "off", "0"}) EXPECT_EQ(parse_bool(no), false);
  EXPECT_FALSE(parse_bool("maybe"));
}

TEST(Suggest, distance_counts_single_edits) {
  EXPECT_EQ(edit_distance("num_head", "num_heads"), 1);
  EXPECT_EQ(edit_distance("hiden_size", "hidden_size"), 1);
  EXPECT_EQ(edit_distance("saturday", "sunday"), 3);  // the textbook example
  EXPECT_EQ(edit_distance("sede", "seed"), 1);        // a swap
  EXPECT_EQ(edit_distance("T_max", "t_max"), 0);
}

TEST(Suggest, only_what_is_alike_is_suggested) {
  EXPECT_EQ(nearest("num_head", {"num_heads", "hidden_size"}), "num_heads");
  EXPECT_EQ(nearest("weight_decay", {"momentum", "weight_decay_rate"}), "weight_decay_rate");
  EXPECT_EQ(nearest("colour", {"momentum", "weight_decay_rate"}), std::nullopt);
}

TEST(Suggest, messages_stay_on_one_line) {
  EXPECT_EQ(printable("a\nb\x01"), "a?b?");
  EXPECT_EQ(printable(std::string(100, 'x')), std::string(60, 'x') + "…");
}

}  // namespace
}  // namespace wsc::config
