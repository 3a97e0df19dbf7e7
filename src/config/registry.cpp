// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/registry.hpp"

#include <algorithm>
#include <utility>

#include "wsc/base/error.hpp"

namespace wsc::config {

Option& Option::in(std::string unit_name) {
  unit = std::move(unit_name);
  return *this;
}

Option& Option::bytes() {
  WSC_EXPECT(std::holds_alternative<std::int64_t*>(target));
  is_bytes = true;
  return in("bytes");
}

Option& Option::free() {
  kind = SettingKind::free;
  return *this;
}

Option& Option::identity() {
  kind = SettingKind::identity;
  return *this;
}

Option& Option::required() {
  must_be_given = true;
  return *this;
}

Option& Option::with_word(std::string text, std::int64_t value) {
  WSC_EXPECT(std::holds_alternative<std::int64_t*>(target) || std::holds_alternative<double*>(target));
  if (default_text == std::to_string(value)) default_text = text;
  word = std::move(text);
  word_value = value;
  return *this;
}

Option& Option::with_optional_suffix(std::string suffix) {
  optional_suffix = std::move(suffix);
  return *this;
}

Option& Option::only_for(std::string option, std::vector<std::string> values) {
  depends_on = std::move(option);
  depends_values = std::move(values);
  return *this;
}

Option& Option::unless(std::string numbered_section) {
  replaced_by = std::move(numbered_section);
  return *this;
}

Section Registry::section(const std::string& name, const std::string& title, SettingKind kind) {
  WSC_EXPECT(!has_section(name));
  sections_.push_back({name, title});
  return Section(*this, name, kind);
}

Option& Registry::insert(Option option) {
  const std::string key = option.key();
  WSC_EXPECT(!by_key_.contains(key));  // an option exists once
  options_.push_back(std::move(option));
  by_key_[key] = &options_.back();
  return options_.back();
}

Option* Registry::find(const std::string& key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

bool Registry::has_section(const std::string& name) const {
  return std::ranges::any_of(sections_, [&](const Title& t) { return t.section == name; });
}

bool Registry::used(const Option& option) const {
  if (!option.replaced_by.empty()) {
    const auto count = counts_.find(option.replaced_by);
    if (count != counts_.end() && count->second > 0) return false;
  }
  if (option.depends_on.empty()) return true;
  const Option* other = find(option.section + "." + option.depends_on);
  WSC_ASSERT(other != nullptr);
  return std::ranges::find(option.depends_values, other->text()) != option.depends_values.end();
}

void declare(Registry& registry, Settings& settings) {
  declare(registry, settings.model);
  declare(registry, settings.optimizer);
  declare_train(registry, settings.train_input);
  declare_eval(registry, settings.eval_input);
  declare(registry, settings.runconfig);
  declare(registry, settings.precision);
  declare(registry, settings.cluster);
  declare(registry, settings.csx);
}

}  // namespace wsc::config
