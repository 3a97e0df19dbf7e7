// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/threaded_channel.hpp"

#include <climits>

#include "wsc/base/error.hpp"
#include "wsc/base/log.hpp"

namespace wsc::fabric {

ThreadedChannel::ThreadedChannel(std::unique_ptr<Transport> transport, const Layout& layout, const ChannelSettings& settings)
    : layout_(layout), ordered_(settings.ordered), fabric_(std::move(transport), layout, settings) {}

std::byte* ThreadedChannel::window(std::int64_t bytes) {
  WSC_EXPECT(!layout_.is_memoryx(rank()) && bytes >= 0);
  return bytes > 0 ? fabric_.window(bytes) : nullptr;
}

void ThreadedChannel::expect_part(ShardId m, std::int64_t size) const {
  WSC_EXPECT(m.index >= 0 && m.index < layout_.memoryx && size >= 0);
  WSC_EXPECT(!layout_.is_memoryx(rank()) || layout_.shard(rank()) == m);  // a memoryx rank takes part in its own shard's transfers only
}

Ticket ThreadedChannel::broadcast(ShardId m, void* data, std::int64_t bytes) {
  expect_part(m, bytes);
  if (bytes == 0) return Ticket();  // all ranks know the size, so nobody posts
  return fabric_.push({.collective = Collective::broadcast, .shard = m, .data = static_cast<std::byte*>(data), .bytes = bytes});
}

Ticket ThreadedChannel::reduce(ShardId m, float* data, std::int64_t count, const std::vector<float*>& carries) {
  expect_part(m, count);
  WSC_EXPECT(carries.empty() || (ordered_ && layout_.is_memoryx(rank())));
  if (count == 0) return Ticket();
  Message message{.collective = Collective::reduce,
                  .shard = m,
                  .data = reinterpret_cast<std::byte*>(data),
                  .bytes = count * static_cast<std::int64_t>(sizeof(float))};
  for (float* const c : carries) message.carries.push_back(reinterpret_cast<std::byte*>(c));
  return fabric_.push(message);
}

void ThreadedChannel::control_broadcast(std::span<std::byte> message) {
  WSC_EXPECT(message.size() <= INT_MAX);
  if (message.empty()) return;
  fabric_.push({.collective = Collective::control_broadcast, .data = message.data(), .bytes = static_cast<std::int64_t>(message.size())})
      .wait();
}

std::vector<std::byte> ThreadedChannel::control_gather(std::span<const std::byte> message) {
  WSC_EXPECT(message.size() <= INT_MAX);
  if (message.empty()) return {};
  std::vector<std::byte> mine(message.begin(), message.end()), all;
  if (rank().index == 0) all.resize(mine.size() * static_cast<std::size_t>(layout_.ranks()));
  fabric_
      .push({.collective = Collective::control_gather,
             .data = mine.data(),
             .bytes = static_cast<std::int64_t>(mine.size()),
             .gathered = all.data()})
      .wait();
  return all;
}

void ThreadedChannel::fail(const Error& error) {
  fabric_.halt();
  if (!fabric_.between_processes()) return;
  log::error(error.what());
  fabric_.abort(static_cast<int>(error.code()));
}

void ThreadedChannel::abort(int exit_code) {
  fabric_.abort(exit_code);
  throw Error(static_cast<ExitCode>(exit_code),
              "rank " + std::to_string(rank().index) + " has aborted the run with exit code " + std::to_string(exit_code));
}

}  // namespace wsc::fabric
