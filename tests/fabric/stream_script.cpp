// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fabric/stream_script.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace wsc::fabric::script {
namespace {

BlockSplit random_block(std::mt19937& random, int shards) {
  const std::int64_t sizes[] = {0, 1, 5, 64, 333, 1024, 4099};
  BlockSplit block;
  block.elements = sizes[random() % std::size(sizes)];
  block.bounds = {0, block.elements};
  for (int m = 1; m < shards; ++m) block.bounds.push_back(static_cast<std::int64_t>(random() % (block.elements + 1)));
  std::sort(block.bounds.begin(), block.bounds.end());
  return block;
}

std::int64_t size(const StreamSchedule& s, const std::vector<BlockId>& blocks) {
  std::int64_t sum = 0;
  for (const BlockId b : blocks) sum += s.blocks[b.index].elements;
  return sum;
}

void lay_out(StreamSchedule& s, bool one_gradient_buffer) {
  std::int64_t slot = 0, half = 0;
  for (const Visit& v : s.visits) {
    slot = std::max(slot, size(s, v.receives));
    half = std::max(half, size(s, v.gradients));
  }
  s.window_elements = slot * (s.prefetch + 1);
  s.gradient_elements = half * 2;
  int sending = 0;
  for (std::size_t i = 0; i < s.visits.size(); ++i) {
    Visit& v = s.visits[i];
    std::int64_t at = slot * static_cast<std::int64_t>(i % (s.prefetch + 1));
    for (const BlockId b : v.receives) {
      v.window_offsets.push_back(at);
      at += s.blocks[b.index].elements;
    }
    at = one_gradient_buffer ? 0 : half * (sending % 2);
    for (const BlockId b : v.gradients) {
      v.gradient_offsets.push_back(at);
      at += s.blocks[b.index].elements;
    }
    sending += v.gradients.empty() ? 0 : 1;
  }
}

void mark_last(StreamSchedule& s) {
  std::map<BlockId, bool> seen;
  for (auto v = s.visits.rbegin(); v != s.visits.rend(); ++v) {
    for (const BlockId b : v->gradients) v->gradient_is_last.push_back(!std::exchange(seen[b], true));
  }
}

/// The first contribution of a block in a wave is slot 0, the next one slot 1.
void set_landings(StreamSchedule& s, int waves) {
  std::map<BlockId, int> seen, per_wave;
  for (const Visit& v : s.visits)
    for (const BlockId b : v.gradients) ++per_wave[b];
  for (auto& [block, count] : per_wave) count /= waves;
  for (Visit& v : s.visits)
    for (const BlockId b : v.gradients) {
      const int n = seen[b]++;
      v.landings.push_back(landing(n / per_wave[b], waves, n % per_wave[b]));
    }
}

}  // namespace

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

StreamSchedule random_schedule(unsigned seed, int shards, const Shape& shape) {
  std::mt19937 random(seed);
  StreamSchedule s;
  s.prefetch = shape.prefetch;
  s.weights = shape.weights;
  for (int i = 0; i < shape.stages; ++i) s.blocks.push_back(random_block(random, shards));
  const int last = shape.stages - 1;
  for (int w = 0; w < shape.waves; ++w) {
    for (int i = 0; i < last; ++i) s.visits.push_back({.receives = {BlockId(i)}});
    s.visits.push_back({.receives = {BlockId(last), BlockId(0)}, .gradients = {BlockId(0), BlockId(last)}});
    for (int i = last - 1; i > 0; --i) s.visits.push_back({.receives = {BlockId(i)}, .gradients = {BlockId(i)}});
    s.visits.push_back({.receives = {}, .gradients = {BlockId(0)}});  // an embedding's backward reads no weights
  }
  mark_last(s);
  lay_out(s, shape.one_gradient_buffer);
  if (shape.ordered) set_landings(s, shape.waves);
  require(flaw(s, shards).empty(), flaw(s, shards));
  return s;
}

Counters expected_counters(const StreamSchedule& schedule, const Layout& layout, Rank rank, std::int64_t chunk_bytes, int csx_per_window) {
  const bool receives = layout.is_memoryx(rank) || layout.csx_of(rank).index % (csx_per_window > 0 ? csx_per_window : layout.csx) == 0;
  Counters c;
  for (const Visit& v : schedule.visits) {
    for (int m = 0; m < layout.memoryx; ++m) {
      if (layout.is_memoryx(rank) && layout.shard(rank) != ShardId(m)) continue;
      const auto add = [&](const std::vector<BlockId>& blocks, std::int64_t size, std::int64_t& bytes, std::int64_t times) {
        for (const BlockId b : blocks) {
          const std::int64_t n = schedule.blocks[b.index].bounds[m + 1] - schedule.blocks[b.index].bounds[m];
          bytes += size * n * times;
          c.messages += (size * n + chunk_bytes - 1) / chunk_bytes;
        }
      };
      if (receives) add(v.receives, bytes_of(schedule.weights), layout.is_memoryx(rank) ? c.weight_bytes_sent : c.weight_bytes_received, 1);
      add(v.gradients, 4, layout.is_memoryx(rank) ? c.gradient_bytes_received : c.gradient_bytes_sent,
          layout.is_memoryx(rank) ? layout.csx : 1);
    }
  }
  return c;
}

void Jitter::maybe_sleep() {
  if (random_() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
}

Shard::Shard(const StreamSchedule& schedule, ShardId shard, int csx, unsigned seed)
    : schedule_(schedule), shard_(shard), csx_(csx), jitter_(seed) {
  for (std::size_t b = 0; b < schedule.blocks.size(); ++b) {
    const auto n = static_cast<std::size_t>(end_of(BlockId(b)) - begin_of(BlockId(b)));
    weights.emplace_back(n * static_cast<std::size_t>(bytes_of(schedule.weights)), std::byte{0xFF});
    sums.emplace_back(n, 0.0F);
  }
}

void Shard::begin_pass(int pass) {
  pass_ = pass;
  updated_.assign(weights.size(), 0);
  contributions_.assign(weights.size(), 0);
  last_seen_.assign(weights.size(), false);
}

void* Shard::on_send(BlockId block, std::int64_t begin, std::int64_t end) {
  jitter_.maybe_sleep();
  std::byte* const mine = weights[block.index].data();
  const Precision format = schedule_.weights;
  const std::int64_t first = begin - begin_of(block);
  require(first >= 0 && begin < end && end <= end_of(block), "on_send outside of the shard's part");
  if (first >= updated_[block.index]) {  // the pending update, once per pass
    require(first == updated_[block.index], "on_send left elements out");
    for (std::int64_t e = begin; e < end; ++e) {
      const float exact = weight(block, e, pass_, format);
      convert(1, Precision::fp32, &exact, format, mine + (e - begin_of(block)) * bytes_of(format));
    }
    updated_[block.index] = end - begin_of(block);
  }
  return mine + first * bytes_of(format);
}

float* Shard::gradient(BlockId block, int copy) {
  if (copy == 0) return sums[block.index].data();
  std::vector<float>& memory = copies[{block, copy}];
  memory.resize(sums[block.index].size());  // zeros at first
  return memory.data();
}

void Shard::on_gradient(BlockId block, bool last) {
  require(!last_seen_[block.index], "a contribution after the last one");
  ++contributions_[block.index];
  last_seen_[block.index] = last;
  if (!last) return;
  for (std::int64_t e = begin_of(block); e < end_of(block); ++e) {
    float expected = 0;
    for (std::size_t v = 0; v < schedule_.visits.size(); ++v) {
      if (std::ranges::count(schedule_.visits[v].gradients, block) == 0) continue;
      for (int i = 0; i < csx_; ++i) expected += contribution(CsxId(i), static_cast<int>(v), block, e, pass_);
    }
    float& sum = sums[block.index][e - begin_of(block)];
    if (sum != expected)
      require(false, "gradient of block " + std::to_string(block.index) + ", element " + std::to_string(e) + ", is " + std::to_string(sum) +
                         " instead of " + std::to_string(expected));
    sum = 0;
  }
}

void Shard::end_pass() const {
  for (std::size_t b = 0; b < weights.size(); ++b) {
    if (weights[b].empty()) continue;
    int expected = 0;
    for (const Visit& v : schedule_.visits) expected += static_cast<int>(std::ranges::count(v.gradients, BlockId(b)));
    require(contributions_[b] == expected && last_seen_[b], "block " + std::to_string(b) + " lacks contributions");
    require(updated_[b] == std::ssize(sums[b]), "block " + std::to_string(b) + " was not sent whole");
  }
  for (const auto& [which, memory] : copies)
    require(std::ranges::count(memory, 0.0F) == std::ssize(memory),
            "a copy of block " + std::to_string(which.first.index) + " is not empty");
}

void csx_pass(CsxStreams& streams, const StreamSchedule& schedule, CsxId csx, int pass, Jitter& jitter) {
  streams.begin(schedule);
  for (int i = 0; i < static_cast<int>(schedule.visits.size()); ++i) {
    const Visit& v = schedule.visits[i];
    const std::vector<const void*> weights = streams.wait(i);
    require(weights.size() == v.receives.size(), "wrong number of blocks");
    const std::vector<float*> sums = streams.gradients(i);
    require(sums.size() == v.gradients.size(), "wrong number of gradient buffers");
    for (std::size_t k = 0; k < sums.size(); ++k) {
      for (std::int64_t e = 0; e < schedule.blocks[v.gradients[k].index].elements; ++e)
        sums[k][e] += contribution(csx, i, v.gradients[k], e, pass);
    }
    jitter.maybe_sleep();
    // Last, so that a block which the next visits overwrite too early is seen.
    for (std::size_t k = 0; k < weights.size(); ++k) {
      std::vector<float> block(static_cast<std::size_t>(schedule.blocks[v.receives[k].index].elements));
      convert(std::ssize(block), schedule.weights, weights[k], Precision::fp32, block.data());
      for (std::int64_t e = 0; e < std::ssize(block); ++e) {
        if (block[e] != weight(v.receives[k], e, pass, schedule.weights))
          require(false, "weight of block " + std::to_string(v.receives[k].index) + ", element " + std::to_string(e) +
                             ", is wrong at visit " + std::to_string(i));
      }
    }
    streams.send(i);
  }
  streams.finish();
  require(streams.exposed_wait().total() >= 0, "negative wait");
}

void run_rank(Channel& channel, const StreamSchedule& schedule, int passes, unsigned seed, int csx_per_window) {
  const Layout& layout = channel.layout();
  const Rank rank = channel.rank();
  const bool memoryx = layout.is_memoryx(rank);
  const Counters before = channel.counters();
  Jitter jitter(seed * 100 + static_cast<unsigned>(rank.index));
  std::unique_ptr<Shard> shard;
  std::unique_ptr<CsxStreams> streams;
  if (memoryx) shard = std::make_unique<Shard>(schedule, layout.shard(rank), layout.csx, seed + static_cast<unsigned>(rank.index));
  if (!memoryx) streams = make_channel_streams(channel);
  for (int pass = 0; pass < passes; ++pass) {
    int announced = rank.index == 0 ? pass * 17 : -1;
    channel.control_broadcast(std::as_writable_bytes(std::span(&announced, 1)));
    require(announced == pass * 17, "the pass was announced wrongly");
    if (memoryx) {
      shard->begin_pass(pass);
      serve_shard(channel, layout.shard(rank), *shard, schedule);
      shard->end_pass();
    } else {
      csx_pass(*streams, schedule, layout.csx_of(rank), pass, jitter);
    }
    const int result = rank.index * 1000 + pass;
    const std::vector<std::byte> all = channel.control_gather(std::as_bytes(std::span(&result, 1)));
    require(all.size() == (rank.index == 0 ? sizeof(int) * static_cast<std::size_t>(layout.ranks()) : 0), "gathered a wrong size");
    for (std::size_t r = 0; r < all.size() / sizeof(int); ++r) {
      int got = 0;
      std::memcpy(&got, all.data() + r * sizeof(int), sizeof(int));
      require(got == static_cast<int>(r) * 1000 + pass, "gathered a wrong number from rank " + std::to_string(r));
    }
  }
  const Counters expected = expected_counters(schedule, layout, rank, channel.chunk_bytes(), csx_per_window), counted = channel.counters();
  require(counted.weight_bytes_sent - before.weight_bytes_sent == passes * expected.weight_bytes_sent, "weight bytes sent");
  require(counted.weight_bytes_received - before.weight_bytes_received == passes * expected.weight_bytes_received, "weight bytes received");
  require(counted.gradient_bytes_sent - before.gradient_bytes_sent == passes * expected.gradient_bytes_sent, "gradient bytes sent");
  require(counted.gradient_bytes_received - before.gradient_bytes_received == passes * expected.gradient_bytes_received,
          "gradient bytes received");
  require(counted.messages - before.messages == passes * expected.messages, "messages");
  require(expected.messages == 0 || counted.moving_s > before.moving_s, "seconds with messages in flight");
}

}  // namespace wsc::fabric::script
