// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>

#include "wsc/checkpoint/directory.hpp"
#include "wsc/checkpoint/load.hpp"
#include "wsc/checkpoint/report.hpp"
#include "wsc/cli/command.hpp"

namespace wsc::cli {
namespace {

constexpr const char* usage = "checkpoint info FILE|RUN | verify FILE|RUN | diff A B";

/// A checkpoint file, or the newest one of a run.
std::filesystem::path resolve(const std::string& name) {
  if (!std::filesystem::is_directory(name)) return name;
  const auto newest = checkpoint::newest_complete(name);
  if (!newest) throw DataError(name + " has no complete checkpoint.");
  return newest->path;
}

}  // namespace

ExitCode checkpoint(Arguments arguments) {
  const std::string action = arguments.empty() ? "" : arguments.front();
  if (action == "info" && arguments.size() == 2) {
    std::printf("%s\n", checkpoint::info(resolve(arguments[1])).c_str());
    return ExitCode::ok;
  }
  if (action == "verify" && arguments.size() == 2) {
    const auto path = resolve(arguments[1]);
    checkpoint::verify(path);
    std::printf("%s: complete, all checksums right, all values finite.\n", path.c_str());
    return ExitCode::ok;
  }
  if (action == "diff" && arguments.size() == 3) {
    const auto report = checkpoint::diff(resolve(arguments[1]), resolve(arguments[2]));
    std::printf("%s\n", report.text.c_str());
    return report.equal ? ExitCode::ok : static_cast<ExitCode>(1);  // as diff(1) does
  }
  throw SettingsError(std::string("usage: wsc ") + usage);
}

}  // namespace wsc::cli
