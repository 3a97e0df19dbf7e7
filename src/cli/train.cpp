// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/train.hpp"

#include "wsc/cli/cluster.hpp"
#include "wsc/cli/command.hpp"
#include "wsc/config/deck.hpp"

namespace wsc::cli {

ExitCode train(Arguments arguments) {
  const std::vector<std::string> overrides = take_overrides(arguments);
  if (arguments.empty())
    throw SettingsError("which deck? Usage: wsc train DECK [--section.key=value …], for example inputs/quickstart.cfg.");
  const std::string deck = arguments.front();
  arguments.erase(arguments.begin());
  expect_no_more(arguments, "train DECK [--section.key=value …]");
  const Settings settings = read_settings(deck, overrides);
  return run_cluster(settings, [&](const train::Setup& setup, fabric::Channel* channel) { return train::train(settings, setup, channel); });
}

}  // namespace wsc::cli
