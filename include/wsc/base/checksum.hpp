// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wsc {

/// CRC-32 (zlib's polynomial) of a run of bytes; parts computed on different ranks are combined in order.
class Checksum {
 public:
  void add(const void* data, std::size_t bytes);
  void add(std::string_view text) { add(text.data(), text.size()); }
  /// Appends the checksum of the `bytes` bytes that follow.
  void append(std::uint32_t crc, std::size_t bytes);
  std::uint32_t value() const { return crc_; }

 private:
  std::uint32_t crc_ = 0;
};

/// 16 hexadecimal digits that identify a text (a tokenizer's vocabulary, a parameter table): FNV-1a, 64 bits.
std::string fingerprint(std::string_view text);

}  // namespace wsc
