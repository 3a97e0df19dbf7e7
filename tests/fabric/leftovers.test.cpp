// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/leftovers.hpp"

#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace wsc::fabric {
namespace {

namespace fs = std::filesystem;

class Leftovers : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "wsc-leftovers-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    const std::string name = host;
    prefix_ = "vader_segment." + name.substr(0, name.find('.')) + ".";
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path make(const std::string& name) const {
    std::ofstream(directory_ / name) << "segment";
    return directory_ / name;
  }
  std::string own(const std::string& job) const { return prefix_ + std::to_string(geteuid()) + "." + job; }

  fs::path directory_;
  std::string prefix_;
};

TEST_F(Leftovers, GoWhereNobodyUsesThem) {
  const fs::path stale = make(own("11480001.0"));
  const fs::path other_user = make(prefix_ + std::to_string(geteuid() + 1) + ".11480001.0");
  const fs::path other_host = make("vader_segment.elsewhere." + std::to_string(geteuid()) + ".11480001.0");
  const fs::path unrelated = make("data.h5");
  EXPECT_EQ(remove_leftovers(directory_, std::chrono::seconds(0)), 1);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(other_user) && fs::exists(other_host) && fs::exists(unrelated));
}

TEST_F(Leftovers, StayWhereAProcessHasThemMapped) {
  const fs::path used = make(own("22220001.1"));
  const int file = open(used.c_str(), O_RDWR);
  void* const at = mmap(nullptr, 7, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  ASSERT_NE(at, MAP_FAILED);
  EXPECT_EQ(remove_leftovers(directory_, std::chrono::seconds(0)), 0);
  EXPECT_TRUE(fs::exists(used));
  munmap(at, 7);
  EXPECT_EQ(remove_leftovers(directory_, std::chrono::seconds(0)), 1);
}

TEST_F(Leftovers, StayWhileYoungOrWithoutADirectory) {
  const fs::path young = make(own("33330001.2"));
  EXPECT_EQ(remove_leftovers(directory_, std::chrono::seconds(60)), 0);
  EXPECT_TRUE(fs::exists(young));
  EXPECT_EQ(remove_leftovers(directory_ / "none", std::chrono::seconds(0)), 0);
}

}  // namespace
}  // namespace wsc::fabric
