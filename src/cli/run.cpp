// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "wsc/base/log.hpp"
#include "wsc/cli/command.hpp"
#include "wsc/cli/versions.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/config/suggest.hpp"
#include "wsc/fabric/channel.hpp"
#include "wsc/fabric/world.hpp"

namespace wsc::cli {
namespace {

void print_help() {
  std::printf("wsc %s: a wafer-scale cluster in software. Trains language models by weight streaming.\n\nusage: wsc COMMAND …\n\n",
              WSC_VERSION);
  for (const Command& c : commands()) std::printf("  %-60s %s\n", c.usage.c_str(), c.help.c_str());
  std::printf(
      "\nAny setting of a deck can be given on the command line: --section.key=value. `wsc train --help` lists the sections,\n"
      "`wsc train --help model` one of them. Exit codes: 2 settings, 3 data and files, 4 numerical, 5 system, 75 stopped after a "
      "checkpoint.\n");
}

const Command& find(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& c : commands()) {
    if (c.name == name) return c;
    names.push_back(c.name);
  }
  const std::optional<std::string> nearest = config::nearest(name, names);
  throw SettingsError("unknown command " + name + "." + (nearest ? " Did you mean wsc " + *nearest + "?" : std::string()) +
                      " `wsc --help` lists them.");
}

ExitCode dispatch(const Arguments& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print_help();
    return arguments.empty() ? ExitCode::settings : ExitCode::ok;
  }
  if (arguments[0] == "--version") {
    std::printf("%s", versions().c_str());
    return ExitCode::ok;
  }
  const Command& command = find(arguments[0]);
  Arguments rest(arguments.begin() + 1, arguments.end());
  const auto help = std::find_if(rest.begin(), rest.end(), [](const std::string& a) { return a == "--help" || a == "-h"; });
  if (help != rest.end()) {
    const std::string section = help + 1 != rest.end() ? *(help + 1) : "";
    const bool takes_settings = command.usage.find("section.key") != std::string::npos || command.name == "generate" || !section.empty();
    std::printf("usage: wsc %s\n%s\n\n%s%s", command.usage.c_str(), command.help.c_str(), command.options.c_str(),
                takes_settings ? help_text(section).c_str() : "");
    return ExitCode::ok;
  }
  return command.run(std::move(rest));
}

}  // namespace

int run(int argc, char** argv) {
  // Under a launcher every rank reads the same settings: one voice is enough for what is wrong with them.
  const fabric::Launch launch = fabric::launch_from_environment();
  log::set_rank(launch.rank, launch.ranks);
  try {
    const ExitCode code = dispatch(Arguments(argv + 1, argv + argc));
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw SystemError("the output could not be written. Is the disk full?");
    return static_cast<int>(code);
  } catch (const fabric::AgreedStop& stop) {
    return static_cast<int>(stop.code());
  } catch (const fabric::RunAborted& aborted) {
    return static_cast<int>(aborted.code());
  } catch (const Error& error) {
    if (error.code() != ExitCode::settings || launch.rank == 0)
      log::error(error.what());
    else
      std::this_thread::sleep_for(std::chrono::seconds(1));  // the launcher ends all ranks when one goes: rank 0 speaks first
    return static_cast<int>(error.code());
  } catch (...) {
    const Error error = to_error(std::current_exception());
    log::error(error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace wsc::cli
