// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "wsc/base/error.hpp"
#include "wsc/fabric/channel.hpp"

namespace wsc::train {

/// The agreements of all ranks: small messages over the control communicator. Without a channel (one process) they are copies.
class Control {
 public:
  explicit Control(fabric::Channel* channel) : channel_(channel) {}

  bool leads() const { return !channel_ || channel_->rank().index == 0; }
  fabric::Channel* channel() const { return channel_; }

  /// Rank 0's value on every rank.
  template <class Plain>
  Plain from_leader(Plain value) {
    static_assert(std::is_trivially_copyable_v<Plain>);
    if (channel_) channel_->control_broadcast(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void from_leader(std::vector<std::int64_t>& values);
  std::string from_leader(const std::string& text);

  /// One value per rank, on rank 0; empty elsewhere.
  template <class Plain>
  std::vector<Plain> to_leader(const Plain& value) {
    static_assert(std::is_trivially_copyable_v<Plain>);
    if (!channel_) return {value};
    const auto bytes = channel_->control_gather(std::as_bytes(std::span(&value, 1)));
    std::vector<Plain> all(bytes.size() / sizeof(Plain));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }
  /// All ranks' lists, one after the other, on rank 0.
  template <class Plain>
  std::vector<Plain> lists_to_leader(const std::vector<Plain>& list) {
    static_assert(std::is_trivially_copyable_v<Plain>);
    if (!channel_) return list;
    const std::vector<std::byte> all = gather_bytes(std::as_bytes(std::span(list)));
    std::vector<Plain> joined(all.size() / sizeof(Plain));
    if (!joined.empty()) std::memcpy(joined.data(), all.data(), all.size());
    return joined;
  }

  /// On all ranks: the bits that are set on any of them. Equal sizes.
  void unite(std::vector<std::uint64_t>& bits);

  /// Runs `body` on every rank. Where it throws an Error on any of them, rank 0 prints the first (rank order) and all ranks throw
  /// fabric::AgreedStop: no rank is left waiting for one that failed. Without a channel the error itself passes through.
  template <class Body>
  void agree(const Body& body) {
    std::exception_ptr failure;
    try {
      body();
    } catch (const Error&) {
      failure = std::current_exception();
    }
    settle(failure);
  }

 private:
  void settle(std::exception_ptr failure);
  std::vector<std::byte> gather_bytes(std::span<const std::byte> bytes);

  fabric::Channel* channel_;
};

}  // namespace wsc::train
