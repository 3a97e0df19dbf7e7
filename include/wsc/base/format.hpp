// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace wsc {

/// "61.2 GB": decimal units, three digits.
std::string bytes_text(double bytes);
/// "1:02:03" from seconds.
std::string time_text(double seconds);
/// "124,439,808".
std::string count_text(std::int64_t n);
/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string printf_text(const char* format, ...);

}  // namespace wsc
