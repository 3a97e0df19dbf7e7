// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "wsc/config/settings.hpp"

/// Decks: reading, writing, explaining and comparing settings. Nothing here needs MPI or Kokkos.
namespace wsc {

/// Reads a deck and the overrides of the command line ("--section.key=value", or "--section.key" followed by "value"), resolves derived
/// values and checks that the settings do not contradict each other. Throws SettingsError with one sentence for the user.
Settings read_settings(const std::filesystem::path& deck, const std::vector<std::string>& overrides = {});

/// The same from text. `origin` names it in messages.
Settings parse_settings(const std::string& text, const std::string& origin, const std::vector<std::string>& overrides = {});

/// Takes out of `arguments` everything that is an override of a setting (a long option with a dot in its name, and its value).
std::vector<std::string> take_overrides(std::vector<std::string>& arguments);

/// A deck that reads back to the same settings bit for bit: config.cfg, and the copy in every checkpoint.
std::string to_deck(const Settings& settings);

/// The start-up table: all settings in use, those that differ from their default marked with *.
std::string settings_table(const Settings& settings);

/// `--help`: the sections, or all options of one. Throws SettingsError for an unknown section.
std::string help_text(const std::string& section_or_empty);

/// docs/options.md
std::string options_markdown();

/// What a changed setting means for a run that exists.
enum class SettingKind {
  identity,  ///< another run: refused unless runconfig.allow_changes
  free,      ///< layout, paths, logging, length: allowed
};

/// One setting on which two runs differ; a side that does not use it is empty.
struct SettingDifference {
  std::string key, a, b;
  SettingKind kind;
};

/// In the order of the deck.
std::vector<SettingDifference> differences(const Settings& a, const Settings& b);

}  // namespace wsc
