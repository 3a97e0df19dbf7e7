// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "wsc/base/error.hpp"
#include "wsc/config/entries.hpp"
#include "wsc/config/suggest.hpp"

/// Messages for names that do not exist.
namespace wsc::config {
namespace {

// [optimizer.schedule.7] is looked up as [optimizer.schedule.1], which the catalogue has.
std::string in_catalogue(const std::string& section) {
  for (const std::string& list : catalogue().lists()) {
    if (section.starts_with(list + ".") && section.find_first_not_of("0123456789", list.size() + 1) == std::string::npos)
      return list + ".1";
  }
  return section;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const auto& title : catalogue().sections()) names.push_back(section_label(title.section));
  return names;
}

std::vector<const Option*> named(const std::string& name) {
  std::vector<const Option*> found;
  for (const Option& option : catalogue().options()) {
    if (option.name == name) found.push_back(&option);
  }
  return found;
}

std::vector<std::string> option_names(const std::string& section) {
  std::vector<std::string> names;
  for (const Option& option : catalogue().options()) {
    if (option.section == section) names.push_back(option.name);
  }
  return names;
}

std::string listing(const std::string& section) { return " `wsc train --help " + section_label(section) + "` lists the section."; }

// Where else the name exists.
std::string belongs(const std::vector<const Option*>& options) {
  std::string text;
  for (const Option* option : options) text += (text.empty() ? "" : " or ") + section_label(option->section) + "." + option->name;
  return " Did you mean " + text + "?";
}

}  // namespace

const Registry& catalogue() {
  static const Registry& registry = []() -> const Registry& {
    static Settings settings;
    std::map<std::string, int> one_each;
    {
      Settings scratch;
      Registry names(Registry::Mode::defaults);
      declare(names, scratch);
      for (const std::string& list : names.lists()) one_each[list] = 1;
    }
    static Registry all(Registry::Mode::defaults, one_each);
    declare(all, settings);
    return all;
  }();
  return registry;
}

std::string section_label(const std::string& section) {
  const auto dot = section.rfind('.');
  if (dot == std::string::npos || section.find_first_not_of("0123456789", dot + 1) != std::string::npos) return section;
  return section.substr(0, dot) + ".N";
}

void unknown_section(const Entry& header) {
  const auto near = nearest(section_label(header.key), section_names());
  std::string all;
  for (const std::string& name : section_names()) all += (all.empty() ? "" : ", ") + name;
  throw SettingsError("unknown section [" + printable(header.key) + "] (" + header.where + ")." +
                      (near ? " Did you mean [" + *near + "]?" : " Sections are " + all + "."));
}

void unknown_setting(const Entry& entry) {
  const auto dot = entry.key.rfind('.');
  const std::string name = dot == std::string::npos ? entry.key : entry.key.substr(dot + 1);
  const std::string section = dot == std::string::npos ? "" : in_catalogue(entry.key.substr(0, dot));
  const std::string what = "unknown setting " + printable(entry.key) + " (" + entry.where + ").";
  const auto elsewhere = named(name);
  if (!elsewhere.empty()) {
    throw SettingsError(what + (section.empty() ? " It stands in no section." : "") + belongs(elsewhere) +
                        listing(elsewhere.front()->section));
  }
  if (catalogue().has_section(section)) {
    const auto near = nearest(name, option_names(section));
    throw SettingsError(what + (near ? " Did you mean " + entry.key.substr(0, dot + 1) + *near + "?" : "") + listing(section));
  }
  std::vector<std::string> keys;
  for (const Option& option : catalogue().options()) keys.push_back(section_label(option.section) + "." + option.name);
  const auto near = nearest(section_label(section) + "." + name, keys);
  throw SettingsError(what + (near ? " Did you mean " + *near + "?" : "") +
                      " Settings are written section.key; `wsc train --help` lists the sections.");
}

}  // namespace wsc::config
