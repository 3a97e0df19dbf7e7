// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace wsc::data {

/// A folder of its own for each test, removed at the end.
class TemporaryFolder : public testing::Test {
 protected:
  TemporaryFolder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    dir = std::filesystem::temp_directory_path() /
          ("wsc-data-" + std::to_string(getpid()) + "-" + test->test_suite_name() + "-" + test->name());
    std::filesystem::create_directories(dir);
  }
  ~TemporaryFolder() override { std::filesystem::remove_all(dir); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((dir / name).parent_path());
    std::ofstream(dir / name, std::ios::binary) << text;
    return dir / name;
  }

  std::filesystem::path dir;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The message of the exception that `f` throws; empty where it throws none.
template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

inline std::filesystem::path golden(const std::string& name) { return std::filesystem::path(WSC_SOURCE_DIR) / "tests/data/golden" / name; }

}  // namespace wsc::data
