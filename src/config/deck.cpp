// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/deck.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"
#include "wsc/config/registry.hpp"

/// What the registry says about one or two sets of settings: the stored deck, the start-up table, the comparison.
namespace wsc {
namespace {

using config::Option;
using config::Registry;

// A copy of settings with a registry that looks at it.
struct Viewed {
  explicit Viewed(const Settings& s) : settings(s), registry(Registry::Mode::view) { config::declare(registry, settings); }
  Settings settings;
  Registry registry;
};

}  // namespace

std::string to_deck(const Settings& settings) {
  const Viewed viewed(settings);
  std::string text = "# All settings of a run, resolved. A deck: wsc reads it back to the same settings, bit for bit.\n";
  std::string section;
  for (const Option& option : viewed.registry.options()) {
    if (!viewed.registry.used(option)) continue;
    if (option.section != section) text += "\n[" + option.section + "]\n";
    section = option.section;
    text += option.name + " = " + option.text() + "\n";
  }
  return text;
}

std::string settings_table(const Settings& settings) {
  const Viewed viewed(settings);
  std::size_t width = 0;
  for (const Option& option : viewed.registry.options()) width = std::max(width, option.key().size());
  std::string text;
  for (const Option& option : viewed.registry.options()) {
    if (!viewed.registry.used(option)) continue;
    const std::string value = option.text();
    const std::string key = option.key();
    text += std::string(value == option.default_text ? "  " : "* ") + key + std::string(width + 2 - key.size(), ' ') +
            (value.empty() ? "-" : value);
    text += (option.unit.empty() || value == option.word ? "" : " " + option.unit) + "\n";
  }
  return text;
}

std::vector<SettingDifference> differences(const Settings& a, const Settings& b) {
  const Viewed first(a), second(b);
  const auto text_in = [](const Viewed& viewed, const std::string& key) {
    const Option* option = viewed.registry.find(key);
    return option != nullptr && viewed.registry.used(*option) ? option->text() : std::string();
  };
  std::vector<SettingDifference> result;
  const auto compare = [&](const Option& option) {
    const std::string key = option.key(), one = text_in(first, key), two = text_in(second, key);
    if (one != two) result.push_back({key, one, two, option.kind});
  };
  for (const Option& option : first.registry.options()) compare(option);
  for (const Option& option : second.registry.options()) {
    if (first.registry.find(option.key()) == nullptr) compare(option);  // pieces that only b has
  }
  return result;
}

}  // namespace wsc
