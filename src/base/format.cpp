// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/format.hpp"

#include <cstdarg>
#include <cstdio>

namespace wsc {

std::string printf_text(const char* format, ...) {
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(static_cast<std::size_t>(length), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  for (; bytes >= 999.5 && unit < 5; ++unit) bytes /= 1000;
  return printf_text(unit == 0 ? "%.0f %s" : bytes < 9.995 ? "%.2f %s" : bytes < 99.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

std::string time_text(double seconds) {
  const auto s = static_cast<long long>(seconds + 0.5);
  return printf_text("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

std::string count_text(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > (n < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

}  // namespace wsc
