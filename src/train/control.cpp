// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/control.hpp"

#include <algorithm>

#include "wsc/base/log.hpp"

namespace wsc::train {
namespace {

struct Failure {
  std::int32_t code = 0;
  char message[2048] = {};
};

}  // namespace

void Control::from_leader(std::vector<std::int64_t>& values) {
  values.resize(static_cast<std::size_t>(from_leader(static_cast<std::int64_t>(values.size()))));
  if (channel_ && !values.empty()) channel_->control_broadcast(std::as_writable_bytes(std::span(values)));
}

std::string Control::from_leader(const std::string& text) {
  std::string copy = text;
  copy.resize(static_cast<std::size_t>(from_leader(static_cast<std::int64_t>(text.size()))));
  if (channel_ && !copy.empty()) channel_->control_broadcast(std::as_writable_bytes(std::span(copy)));
  return copy;
}

std::vector<std::byte> Control::gather_bytes(std::span<const std::byte> bytes) {
  const auto sizes = to_leader(static_cast<std::int64_t>(bytes.size()));
  const std::int64_t largest = from_leader(sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end()));
  if (largest == 0) return {};
  std::vector<std::byte> padded(static_cast<std::size_t>(largest));
  std::copy(bytes.begin(), bytes.end(), padded.begin());
  const std::vector<std::byte> all = channel_->control_gather(padded);
  std::vector<std::byte> joined;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank * largest);
    joined.insert(joined.end(), begin, begin + sizes[rank]);
  }
  return joined;
}

void Control::unite(std::vector<std::uint64_t>& bits) {
  if (!channel_ || bits.empty()) return;
  const std::vector<std::byte> all = channel_->control_gather(std::as_bytes(std::span(bits)));
  for (std::size_t i = 0; i < all.size() / sizeof(std::uint64_t); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, all.data() + i * sizeof word, sizeof word);
    bits[i % bits.size()] |= word;
  }
  channel_->control_broadcast(std::as_writable_bytes(std::span(bits)));
}

void Control::settle(std::exception_ptr failure) {
  if (!channel_) {
    if (failure) std::rethrow_exception(failure);
    return;
  }
  Failure mine;
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const Error& error) {
    mine.code = static_cast<std::int32_t>(error.code());
    std::strncpy(mine.message, error.what(), sizeof mine.message - 1);
  }
  const auto all = to_leader(mine);
  std::int32_t code = 0;
  for (std::size_t rank = 0; rank < all.size() && code == 0; ++rank) {
    code = all[rank].code;
    if (code == 0) continue;
    const auto same = std::count_if(all.begin(), all.end(), [&](const Failure& f) { return f.code != 0; });
    log::error(std::string(all[rank].message) +
               (same < static_cast<std::ptrdiff_t>(all.size()) ? " (seen by rank " + std::to_string(rank) + ")" : ""));
  }
  code = from_leader(code);
  if (code != 0) throw fabric::AgreedStop(static_cast<ExitCode>(code));
}

}  // namespace wsc::train
