// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/bench_stream.hpp"

#include <algorithm>
#include <cstring>

#include "wsc/base/clock.hpp"
#include "wsc/fabric/streams.hpp"
#include "wsc/fabric/world.hpp"

namespace wsc::fabric {
namespace {

constexpr int prefetch = 3;

StreamSchedule schedule_of(const Layout& layout, std::int64_t elements, int blocks, bool weights, bool gradients) {
  StreamSchedule s;
  s.prefetch = prefetch;
  s.window_elements = weights ? elements * (prefetch + 1) : 0;
  s.gradient_elements = gradients ? elements * 2 : 0;
  for (int b = 0; b < blocks; ++b) {
    BlockSplit& split = s.blocks.emplace_back(BlockSplit{elements, {}});
    for (int m = 0; m <= layout.memoryx; ++m) split.bounds.push_back(elements * m / layout.memoryx);
    Visit& v = s.visits.emplace_back();
    if (weights) v.receives = {BlockId(b)}, v.window_offsets = {elements * (b % (prefetch + 1))};
    if (gradients) v.gradients = {BlockId(b)}, v.gradient_offsets = {elements * (b % 2)}, v.gradient_is_last = {true};
  }
  return s;
}

/// All blocks share one array of weights and one of sums: they are memory to read and to add to, not numbers to use.
class Memory : public ShardHandler {
 public:
  explicit Memory(std::int64_t elements) : weights_(static_cast<std::size_t>(elements)), sums_(static_cast<std::size_t>(elements)) {}
  void* on_send(BlockId, std::int64_t begin, std::int64_t) override { return weights_.data() + begin; }
  float* gradient(BlockId, int) override { return sums_.data(); }
  void on_gradient(BlockId, bool) override {}

 private:
  std::vector<float> weights_, sums_;
};

class Bench {
 public:
  Bench(Channel& channel, std::int64_t elements, int blocks, int repeats)
      : channel_(channel), elements_(elements), blocks_(blocks), repeats_(repeats), memory_(memoryx() ? elements : 0) {
    if (!memoryx()) streams_ = make_channel_streams(channel);
  }

  StreamRates run() {
    StreamRates r;
    const double bytes = static_cast<double>(elements_) * blocks_ * sizeof(float);
    const double down = best(true, false), up = best(false, true), both = best(true, true), nothing = best(false, false);
    if (channel_.rank() == Rank(0)) r = {bytes / down, bytes / up, bytes / both, nothing};
    return r;
  }

 private:
  bool memoryx() const { return channel_.layout().is_memoryx(channel_.rank()); }

  /// Seconds between two agreements of all ranks.
  double best(bool weights, bool gradients) {
    const StreamSchedule schedule = schedule_of(channel_.layout(), elements_, weights || gradients ? blocks_ : 0, weights, gradients);
    double least_s = 0;
    for (int k = 0; k <= repeats_; ++k) {
      const Stopwatch watch;
      std::byte word{};
      channel_.control_broadcast({&word, 1});
      if (memoryx()) {
        serve_shard(channel_, channel_.layout().shard(channel_.rank()), memory_, schedule);
      } else {
        take_part(schedule);
      }
      channel_.control_gather({&word, 1});
      if (k > 0) least_s = k == 1 ? watch.seconds() : std::min(least_s, watch.seconds());  // the first one only touches the memory
    }
    return least_s;
  }

  void take_part(const StreamSchedule& schedule) {
    streams_->begin(schedule);
    for (int i = 0; i < static_cast<int>(schedule.visits.size()); ++i) {
      streams_->wait(i);
      streams_->gradients(i);
      streams_->send(i);
    }
    streams_->finish();
  }

  Channel& channel_;
  const std::int64_t elements_;
  const int blocks_, repeats_;
  Memory memory_;
  std::unique_ptr<CsxStreams> streams_;
};

}  // namespace

StreamRates bench_stream(Channel& channel, std::int64_t elements, int blocks, int repeats) {
  Bench bench(channel, elements, blocks, repeats);
  StreamRates rates;
  guarded(&channel, [&] { rates = bench.run(); });
  return rates;
}

}  // namespace wsc::fabric
