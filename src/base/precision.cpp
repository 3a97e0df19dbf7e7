// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/precision.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "wsc/base/error.hpp"
#include "wsc/base/formats.hpp"

namespace wsc {
namespace {

constexpr std::array<std::string_view, 4> names{"fp32", "bf16", "fp16", "cb16"};

/// Calls body with a null pointer of the format's type.
template <class Body>
void with_type(Precision p, const Body& body) {
  switch (p) {
    case Precision::bf16:
      return body(static_cast<bfloat16*>(nullptr));
    case Precision::fp16:
      return body(static_cast<float16*>(nullptr));
    case Precision::cb16:
      return body(static_cast<cbfloat16*>(nullptr));
    case Precision::fp32:
      break;
  }
  WSC_ASSERT(false);
}

void to_float(std::int64_t n, Precision format, const void* from, float* to) {
  with_type(format, [=]<class Format>(Format*) { widen(n, static_cast<const Format*>(from), to); });
}

void from_float(std::int64_t n, const float* from, Precision format, void* to) {
  with_type(format, [=]<class Format>(Format*) { narrow(n, from, static_cast<Format*>(to)); });
}

}  // namespace

std::string name(Precision p) { return std::string(names.at(static_cast<std::size_t>(p))); }

Precision precision_of(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  WSC_EXPECT(found != names.end());
  return static_cast<Precision>(found - names.begin());
}

void convert(std::int64_t n, Precision from_format, const void* from, Precision to_format, void* to) {
  if (from_format == to_format) {
    if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n * bytes_of(from_format)));
  } else if (from_format == Precision::fp32) {
    from_float(n, static_cast<const float*>(from), to_format, to);
  } else if (to_format == Precision::fp32) {
    to_float(n, from_format, from, static_cast<float*>(to));
  } else {
    constexpr std::int64_t piece = 1024;
    std::array<float, piece> between;
    for (std::int64_t i = 0; i < n; i += piece) {
      const std::int64_t count = std::min(piece, n - i);
      to_float(count, from_format, static_cast<const char*>(from) + i * 2, between.data());
      from_float(count, between.data(), to_format, static_cast<char*>(to) + i * 2);
    }
  }
}

}  // namespace wsc
