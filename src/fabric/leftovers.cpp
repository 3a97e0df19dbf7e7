// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/leftovers.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace wsc::fabric {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> name_beginnings() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string name = host, short_name = name.substr(0, name.find('.')), user = std::to_string(geteuid());
  std::vector<std::string> all;
  for (const char* kind : {"vader_segment.", "sm_segment."}) {
    for (const std::string& h : {name, short_name}) all.push_back(kind + h + "." + user + ".");
  }
  return all;
}

bool is_old_and_ours(const fs::path& file, std::chrono::seconds age) {
  struct stat s {};
  if (lstat(file.c_str(), &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid()) return false;
  return std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(s.st_mtime) >= age;
}

std::vector<fs::path> candidates(const fs::path& directory, std::chrono::seconds age) {
  const std::vector<std::string> beginnings = name_beginnings();
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool named_so = std::any_of(beginnings.begin(), beginnings.end(), [&](const std::string& b) { return name.starts_with(b); });
    if (named_so && is_old_and_ours(at->path(), age)) found.push_back(at->path());
  }
  return found;
}

/// Files that some process of this machine has mapped (those of other users cannot be read, and do not map ours).
std::set<std::string> mapped_files() {
  std::set<std::string> mapped;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    std::ifstream maps(at->path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      if (const auto path = line.find('/'); path != std::string::npos) mapped.insert(line.substr(path));
    }
  }
  return mapped;
}

}  // namespace

int remove_leftovers(const fs::path& directory, std::chrono::seconds age) {
  const std::vector<fs::path> files = candidates(directory, age);
  if (files.empty()) return 0;
  const std::set<std::string> mapped = mapped_files();
  if (mapped.empty()) return 0;  // no /proc: nothing is known
  int removed = 0;
  for (const fs::path& file : files) {
    std::error_code error;
    if (!mapped.contains(file.string()) && fs::remove(file, error)) ++removed;
  }
  return removed;
}

}  // namespace wsc::fabric
