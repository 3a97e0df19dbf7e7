// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wsc/config/registry.hpp"

/// Decks and command lines as lists of key and value, before anything is known about the keys.
namespace wsc::config {

inline constexpr const char* command_line = "command line";

/// `where` is "inputs/x.cfg:12" or "command line".
struct Entry {
  std::string key, value, where;
};

struct DeckText {
  std::vector<Entry> entries;
  std::vector<Entry> sections;  ///< the headers: key = name, no value
};

/// An INI text, read by Boost.Program_options. Throws SettingsError with file and line.
DeckText read_entries(const std::string& text, const std::string& origin);

/// "--section.key=value" or "--section.key" "value". The registry says which keys exist. Throws SettingsError.
std::vector<Entry> read_command_line(const std::vector<std::string>& tokens, const Registry& registry);

/// How many [list.1], [list.2] ... deck and command line name, for each numbered section. Throws where the numbers have gaps.
std::map<std::string, int> count_numbered(const DeckText& deck, const std::vector<std::string>& tokens);

/// The error for a key that is in no section, or in another one: with the nearest name.
[[noreturn]] void unknown_setting(const Entry& entry);
[[noreturn]] void unknown_section(const Entry& header);

/// All options there can be, with one section [list.1] for each numbered one: for help and suggestions.
const Registry& catalogue();
/// "optimizer.schedule.1" -> "optimizer.schedule.N".
std::string section_label(const std::string& section);

}  // namespace wsc::config
