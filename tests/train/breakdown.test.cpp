// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/breakdown.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "wsc/train/metrics.hpp"

namespace wsc::train {
namespace {

RankReport csx(double pass, double compute, double data, const fabric::ExposedWait& wait) {
  RankReport r;
  r.seconds = {.pass = pass, .compute = compute, .data = data, .agreement = 0.0625, .wait = wait};
  return r;
}

TEST(Breakdown, IsThatOfTheCsxThatWaitedLongestAndAddsUpToTheStep) {
  RankReport memoryx;
  memoryx.seconds = {.pass = 9, .optimizer = 0.75};
  const std::vector<RankReport> reports{memoryx, csx(8, 7, 0.25, {0.125, 0.125, 0, 0}), csx(9, 6, 0.5, {0.25, 0.5, 0.125, 1})};
  const Breakdown b = breakdown(reports, {1, 2}, true, 10);
  EXPECT_EQ(b.compute, 6);
  EXPECT_EQ(b.wait.total(), 1.875);
  EXPECT_EQ(b.optimizer, 0.75);
  EXPECT_EQ(b.other, 9 - 6 - 0.5 - 0.0625 - 1.875);
  EXPECT_EQ(b.agreement, 1.0625);
  EXPECT_EQ(b.total(), 10);
}

TEST(Breakdown, InOneProcessTheOptimizerIsAPartOfTheStep) {
  RankReport both = csx(8, 6, 0.5, {});
  both.seconds.optimizer = 1;
  const Breakdown b = breakdown({both}, {1, 1}, false, 8.25);
  EXPECT_EQ(b.other, 0.4375);
  EXPECT_EQ(b.agreement, 0.3125);
  EXPECT_EQ(b.total(), 8.25);
}

TEST(BreakdownTable, LeavesOutTheFirstStepWhereThereAreOthers) {
  BreakdownTable table;
  table.add({.compute = 100}, 100, 1);
  EXPECT_NE(table.text({}, {}).find("100.0000 s"), std::string::npos);
  table.add({.compute = 2}, 4, 1);
  table.add({.compute = 4}, 8, 1);
  const std::string text = table.text({}, {});
  EXPECT_NE(text.find("mean of 2"), std::string::npos) << text;
  EXPECT_NE(text.find("3.0000 s   50.0 %"), std::string::npos) << text;
}

TEST(CsvFile, RowsOfAnOlderHeaderAreFilledUp) {
  const auto path = std::filesystem::temp_directory_path() / ("wsc-csv-" + std::to_string(getpid()) + ".csv");
  std::ofstream(path) << "step,loss\n1,0.5\n2,0.25\n3,0.125\n";
  CsvFile(path, "step,loss,a,b", 2).add("3,1,2,3");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "step,loss,a,b\n1,0.5,,\n2,0.25,,\n3,1,2,3\n");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace wsc::train
