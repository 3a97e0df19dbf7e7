// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "wsc/cli/command.hpp"
#include "wsc/config/deck.hpp"

namespace wsc::cli {

ExitCode docs(Arguments arguments) {
  if (arguments.size() != 1 || arguments[0] != "options") throw SettingsError("usage: wsc docs options   (prints docs/options.md)");
  std::printf("%s", options_markdown().c_str());
  return ExitCode::ok;
}

}  // namespace wsc::cli
