// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wsc {

/// How numbers lie in memory or on the wire (formats.hpp), where that is chosen by a setting.
enum class Precision : std::int32_t { fp32, bf16, fp16, cb16 };

/// Bytes of one number.
constexpr std::int64_t bytes_of(Precision p) { return p == Precision::fp32 ? 4 : 2; }

/// As settings spell it: "fp32", "bf16", "fp16", "cb16".
std::string name(Precision p);
/// The inverse; the registry has checked the text.
Precision precision_of(std::string_view name);

/// to[i] = from[i] for i < n: rounded to nearest even, or exact where the format widens. A copy where the formats are the same. Between two
/// formats of 16 bits it goes through float. The ranges do not overlap. Runs on the calling thread.
void convert(std::int64_t n, Precision from_format, const void* from, Precision to_format, void* to);

}  // namespace wsc
