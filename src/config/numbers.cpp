// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/numbers.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <system_error>

namespace wsc::config {
namespace {

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct ByteUnit {
  std::string_view name;
  double factor;
};
constexpr double ki = 1024.0;
constexpr ByteUnit byte_units[] = {
    {"kib", ki}, {"mib", ki* ki}, {"gib", ki* ki* ki}, {"tib", ki* ki* ki* ki}, {"kb", 1e3}, {"mb", 1e6},
    {"gb", 1e9}, {"tb", 1e12},    {"b", 1.0},
};

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(blanks) - first + 1));
}

std::optional<std::int64_t> parse_integer(std::string_view text) { return parse_whole<std::int64_t>(text); }

std::optional<double> parse_number(std::string_view text) {
  const std::optional<double> value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  if (const auto plain = parse_integer(text)) return plain;
  const std::string lower = lower_case(text);
  for (const ByteUnit& unit : byte_units) {
    if (!lower.ends_with(unit.name)) continue;
    const auto number = parse_number(trim(std::string_view(lower).substr(0, lower.size() - unit.name.size())));
    if (!number) return std::nullopt;
    const double bytes = *number * unit.factor;
    const double whole = std::round(bytes);  // 1.1GB is not exact in binary
    if (std::abs(bytes - whole) > 1e-6 * std::abs(whole) || std::abs(whole) >= 9.0e18) return std::nullopt;
    return static_cast<std::int64_t>(whole);
  }
  return std::nullopt;
}

std::optional<bool> parse_bool(std::string_view text) {
  const std::string lower = lower_case(text);
  if (lower == "true" || lower == "yes" || lower == "on" || lower == "1") return true;
  if (lower == "false" || lower == "no" || lower == "off" || lower == "0") return false;
  return std::nullopt;
}

std::string number_text(double value) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  if (error != std::errc{}) return {};
  std::string text(buffer, end);
  const auto exponent = text.find('e');  // 1e-05 is written 1e-5
  if (exponent != std::string::npos && text[exponent + 2] == '0') text.erase(exponent + 2, 1);
  return text;
}

}  // namespace wsc::config
