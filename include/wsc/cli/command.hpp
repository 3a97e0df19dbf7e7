// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wsc/base/error.hpp"

namespace wsc::cli {

using Arguments = std::vector<std::string>;

/// One subcommand. `arguments`: what follows its name.
struct Command {
  std::string name, usage, help;
  ExitCode (*run)(Arguments arguments);
  std::string options = {};  ///< the options of its own, for `wsc COMMAND --help`
};

/// All of them, in the order of --help.
const std::vector<Command>& commands();

ExitCode train(Arguments arguments);
ExitCode evaluate(Arguments arguments);
ExitCode generate(Arguments arguments);
ExitCode plan(Arguments arguments);
ExitCode data(Arguments arguments);
ExitCode checkpoint(Arguments arguments);
ExitCode bench(Arguments arguments);
ExitCode doctor(Arguments arguments);
ExitCode docs(Arguments arguments);

/// All that `wsc data` takes.
std::string data_usage();

/// The whole program: dispatches, prints errors, returns the exit code.
int run(int argc, char** argv);

/// Takes `--name value` or `--name=value` out of the arguments; `fallback` where it is not there.
std::string take_option(Arguments& arguments, const std::string& name, const std::string& fallback = {});
bool take_flag(Arguments& arguments, const std::string& name);
/// Numbers with the whole text used up; SettingsError names the option otherwise.
std::int64_t take_integer(Arguments& arguments, const std::string& name, std::int64_t fallback);
double take_number(Arguments& arguments, const std::string& name, double fallback);
/// Throws SettingsError where arguments are left: names the first, and the usage of the command.
void expect_no_more(const Arguments& arguments, const std::string& usage);

}  // namespace wsc::cli
