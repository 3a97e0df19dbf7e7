// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/checksum.hpp"

#include <algorithm>
#include <cstdio>

#include <zlib.h>

#include "wsc/base/random.hpp"

namespace wsc {

void Checksum::add(const void* data, std::size_t bytes) {
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, static_cast<const Bytef*>(data), bytes));
}

void Checksum::append(std::uint32_t crc, std::size_t bytes) {
  crc_ = static_cast<std::uint32_t>(crc32_combine(crc_, crc, static_cast<z_off_t>(bytes)));
}

std::string fingerprint(std::string_view text) {
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash_name(text)));
  return hex;
}

}  // namespace wsc
