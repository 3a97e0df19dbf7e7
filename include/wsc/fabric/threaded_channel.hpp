// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/fabric/fabric_thread.hpp"

namespace wsc::fabric {

/// The channel of both engines: a fabric thread over a transport.
class ThreadedChannel : public Channel {
 public:
  ThreadedChannel(std::unique_ptr<Transport> transport, const Layout& layout, const ChannelSettings& settings);

  const Layout& layout() const override { return layout_; }
  Rank rank() const override { return fabric_.rank(); }
  std::int64_t chunk_bytes() const override { return fabric_.chunk_bytes(); }
  std::byte* window(std::int64_t bytes) override;
  void release() override { fabric_.release(); }
  Ticket broadcast(ShardId m, void* data, std::int64_t bytes) override;
  Ticket reduce(ShardId m, float* data, std::int64_t count, const std::vector<float*>& carries) override;
  void control_broadcast(std::span<std::byte> message) override;
  std::vector<std::byte> control_gather(std::span<const std::byte> message) override;
  Counters counters() const override { return fabric_.counters(); }
  void halt() noexcept override { fabric_.halt(); }
  void fail(const Error& error) override;
  void abort(int exit_code) override;

 private:
  void expect_part(ShardId m, std::int64_t size) const;

  Layout layout_;
  bool ordered_;
  FabricThread fabric_;
};

}  // namespace wsc::fabric
