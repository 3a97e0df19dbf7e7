// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Text to number and back, independent of the locale. Nothing is accepted in part: "3e-4x" is no number, "1e3" no whole number.
namespace wsc::config {

std::optional<std::int64_t> parse_integer(std::string_view text);

/// Finite numbers only.
std::optional<double> parse_number(std::string_view text);

/// Plain bytes, or a number with one of B kB MB GB TB (powers of 1000) and KiB MiB GiB TiB (powers of 1024).
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// true, yes, on, 1 and their opposites, in any case.
std::optional<bool> parse_bool(std::string_view text);

/// The shortest text that reads back to the same bits.
std::string number_text(double value);

std::string lower_case(std::string_view text);
std::string trim(std::string_view text);

}  // namespace wsc::config
