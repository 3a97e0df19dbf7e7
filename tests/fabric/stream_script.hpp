// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "wsc/fabric/streams.hpp"
#include "wsc/fabric/world.hpp"

/// A made-up training run over the streams in which every number is known: weights and gradients are small integers given by formulas,
/// so sums are exact in fp32 whatever their order. Whoever sees a wrong number throws. Shared by the tests of all engines.
namespace wsc::fabric::script {

/// Below 2^16, or (in 16 bits) 2^8: exact in every format.
inline float weight(BlockId block, std::int64_t element, int pass, Precision format) {
  return static_cast<float>((block.index * 131 + element * 7 + pass * 1009) % (format == Precision::fp32 ? 65521 : 251));
}
inline float contribution(CsxId csx, int visit, BlockId block, std::int64_t element, int pass) {
  return static_cast<float>((csx.index * 3 + visit * 5 + block.index + element + pass) % 17 - 8);
}

struct Shape {
  int stages = 4, waves = 2, prefetch = 1;
  bool one_gradient_buffer = false;  ///< every gradient in the same place: each must have left before the next is filled
  bool ordered = false;              ///< contributions land where the tree over the waves has them
  Precision weights = Precision::fp32;
};

/// Stages own one block each; block 0 is read by the last stage too. Forward, turn, backward, once per wave. Sizes and cuts are random,
/// with empty blocks and empty parts among them.
StreamSchedule random_schedule(unsigned seed, int shards, const Shape& shape);

/// Messages and bytes that a rank must count for one pass.
Counters expected_counters(const StreamSchedule& schedule, const Layout& layout, Rank rank, std::int64_t chunk_bytes, int csx_per_window);

/// Sleeps a random time now and then, to meet many interleavings.
class Jitter {
 public:
  explicit Jitter(unsigned seed) : random_(seed) {}
  void maybe_sleep();

 private:
  std::mt19937 random_;
};

/// A shard that checks what it is asked for, in which order, and what it is given.
class Shard : public ShardHandler {
 public:
  Shard(const StreamSchedule& schedule, ShardId shard, int csx, unsigned seed);
  void begin_pass(int pass);
  void end_pass() const;  ///< all gradients have come

  void* on_send(BlockId block, std::int64_t begin, std::int64_t end) override;
  float* gradient(BlockId block, int copy) override;
  void on_gradient(BlockId block, bool last) override;

  std::vector<std::vector<std::byte>> weights;                   ///< per block: the part of this shard, as it travels
  std::vector<std::vector<float>> sums;                          ///< the same, fp32
  std::map<std::pair<BlockId, int>, std::vector<float>> copies;  ///< of the sums, numbered from 1

 private:
  std::int64_t begin_of(BlockId b) const { return schedule_.blocks[b.index].bounds[shard_.index]; }
  std::int64_t end_of(BlockId b) const { return schedule_.blocks[b.index].bounds[shard_.index + 1]; }

  const StreamSchedule& schedule_;
  ShardId shard_;
  int csx_, pass_ = 0;
  std::vector<std::int64_t> updated_;  // per block: elements updated in this pass
  std::vector<int> contributions_;     // per block: on_gradient calls of this pass
  std::vector<bool> last_seen_;
  Jitter jitter_;
};

/// One pass of a csx: checks all weights at every visit, then sends its contributions.
void csx_pass(CsxStreams& streams, const StreamSchedule& schedule, CsxId csx, int pass, Jitter& jitter);

/// A rank's whole run of several passes between control messages; checks the counters at the end.
void run_rank(Channel& channel, const StreamSchedule& schedule, int passes, unsigned seed, int csx_per_window = 0);

void require(bool condition, const std::string& what);

}  // namespace wsc::fabric::script
