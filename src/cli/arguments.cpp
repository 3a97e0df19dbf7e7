// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "wsc/cli/command.hpp"

namespace wsc::cli {
namespace {

template <class Number>
Number parse(const std::string& text, const std::string& name, const char* kind) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw SettingsError("--" + name + " = " + text + " is not " + kind + ".");
  return value;
}

}  // namespace

std::string take_option(Arguments& arguments, const std::string& name, const std::string& fallback) {
  const std::string flag = "--" + name;
  for (auto it = arguments.begin(); it != arguments.end(); ++it) {
    if (it->starts_with(flag + "=")) {
      const std::string value = it->substr(flag.size() + 1);
      arguments.erase(it);
      return value;
    }
    if (*it == flag) {
      if (it + 1 == arguments.end()) throw SettingsError(flag + " needs a value.");
      const std::string value = *(it + 1);
      arguments.erase(it, it + 2);
      return value;
    }
  }
  return fallback;
}

bool take_flag(Arguments& arguments, const std::string& name) {
  const auto it = std::find(arguments.begin(), arguments.end(), "--" + name);
  if (it == arguments.end()) return false;
  arguments.erase(it);
  return true;
}

std::int64_t take_integer(Arguments& arguments, const std::string& name, std::int64_t fallback) {
  const std::string text = take_option(arguments, name);
  return text.empty() ? fallback : parse<std::int64_t>(text, name, "a whole number");
}

double take_number(Arguments& arguments, const std::string& name, double fallback) {
  const std::string text = take_option(arguments, name);
  return text.empty() ? fallback : parse<double>(text, name, "a number");
}

void expect_no_more(const Arguments& arguments, const std::string& usage) {
  if (!arguments.empty()) throw SettingsError("unexpected argument " + arguments.front() + ". Usage: wsc " + usage);
}

}  // namespace wsc::cli
