// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>

#include "wsc/base/error.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/config/entries.hpp"
#include "wsc/config/registry.hpp"
#include "wsc/config/resolve.hpp"
#include "wsc/config/suggest.hpp"

namespace wsc {
namespace {

using config::Entry;
using config::Option;
using config::Registry;
using Given = std::map<std::string, std::string>;  // key -> where

void check_sections(const config::DeckText& deck, const Registry& registry) {
  for (const Entry& header : deck.sections) {
    if (!registry.has_section(header.key)) config::unknown_section(header);
  }
}

// The deck first, then the command line, which may give again what the deck gave.
void apply(const std::vector<Entry>& entries, Registry& registry, Given& given) {
  Given here;
  for (const Entry& entry : entries) {
    Option* option = registry.find(entry.key);
    if (option == nullptr) config::unknown_setting(entry);
    const auto [first, is_new] = here.try_emplace(entry.key, entry.where);
    if (!is_new) {
      const bool in_deck = entry.where != config::command_line;
      throw SettingsError(entry.key + " is given twice (" + (in_deck ? first->second + " and " : "") + entry.where +
                          "). Keep one of them.");
    }
    option->assign(entry.value, entry.where);
    given[entry.key] = entry.where;
  }
}

// A setting that nothing reads is an error, but not where the command line switched the option that it belongs to: then it goes back to its
// default (so that --optimizer.optimizer_type=SGD works on a deck with betas).
void check_unused(Registry& registry, Given& given) {
  for (Option& option : registry.options()) {
    if (!given.contains(option.key()) || registry.used(option)) continue;
    const std::string where = given.at(option.key());
    if (!option.replaced_by.empty()) {
      throw SettingsError(option.key() + " = " + option.text() + " (" + where + ") has no effect beside [" + option.replaced_by +
                          ".1]. Change the rates there, as in --" + option.replaced_by + ".1.end_learning_rate=" + option.text() + ".");
    }
    const Option* other = registry.find(option.section + "." + option.depends_on);
    const auto switched = given.find(other->key());
    if (switched == given.end() || switched->second != config::command_line || where == config::command_line) {
      std::string values;
      for (const std::string& value : option.depends_values) values += (values.empty() ? "" : ", ") + value;
      throw SettingsError(option.key() + " (" + where + ") has no effect with " + other->name + " = " + other->text() + ": it is for " +
                          values + ". Remove it.");
    }
    option.assign(option.default_text, "default");
    given.erase(option.key());
  }
}

void check_required(const Registry& registry, const Given& given) {
  for (const Option& option : registry.options()) {
    if (!option.must_be_given || given.contains(option.key()) || !registry.used(option)) continue;
    const std::string because =
        option.depends_on.empty() ? ""
                                  : " with " + option.depends_on + " = " + registry.find(option.section + "." + option.depends_on)->text();
    throw SettingsError(option.key() + " must be given" + because + " (" + option.help + ").");
  }
}

std::string nearest_deck(const std::filesystem::path& deck) {
  std::error_code error;
  const auto folder = deck.has_parent_path() ? deck.parent_path() : std::filesystem::path(".");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".cfg") names.push_back(entry.path().filename().string());
  }
  const auto near = config::nearest(deck.filename().string(), names);
  return near ? " Did you mean " + (deck.parent_path() / *near).string() + "?" : "";
}

std::string read_file(const std::filesystem::path& deck) {
  std::error_code error;
  if (std::filesystem::is_directory(deck, error)) {
    const bool is_run = std::filesystem::exists(deck / "config.cfg", error);
    throw SettingsError(deck.string() + " is a folder, not a deck." +
                        (is_run ? " The deck of this run is " + (deck / "config.cfg").string() + "." : ""));
  }
  errno = 0;
  std::ifstream in(deck, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in) throw SettingsError(with_errno("cannot read the deck " + deck.string()) + "." + nearest_deck(deck));
  return text.str();
}

}  // namespace

Settings parse_settings(const std::string& text, const std::string& origin, const std::vector<std::string>& overrides) {
  const config::DeckText deck = config::read_entries(text, origin);
  Settings settings;
  Registry registry(Registry::Mode::defaults, config::count_numbered(deck, overrides));
  config::declare(registry, settings);
  check_sections(deck, registry);

  Given given;
  apply(deck.entries, registry, given);
  apply(config::read_command_line(overrides, registry), registry, given);
  check_unused(registry, given);
  check_required(registry, given);

  config::resolve(settings);
  config::check_together(settings, [&](const std::string& key) {
    const auto where = given.find(key);
    return key + " = " + registry.find(key)->text() + " (" + (where == given.end() ? "default" : where->second) + ")";
  });
  return settings;
}

Settings read_settings(const std::filesystem::path& deck, const std::vector<std::string>& overrides) {
  return parse_settings(read_file(deck), deck.string(), overrides);
}

std::vector<std::string> take_overrides(std::vector<std::string>& arguments) {
  std::vector<std::string> overrides, rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& token = arguments[i];
    const auto equals = token.find('=');
    const bool is_setting = token.starts_with("--") && token.substr(0, equals).find('.') != std::string::npos;
    if (!is_setting) {
      rest.push_back(token);
      continue;
    }
    overrides.push_back(token);
    if (equals == std::string::npos && i + 1 < arguments.size()) overrides.push_back(arguments[++i]);
  }
  arguments = std::move(rest);
  return overrides;
}

}  // namespace wsc
