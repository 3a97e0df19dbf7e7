// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "wsc/base/error.hpp"
#include "wsc/base/trace.hpp"
#include "wsc/fabric/streams.hpp"

namespace wsc::fabric {
namespace {

/// One pass of one shard.
class ShardPass {
 public:
  ShardPass(Channel& channel, ShardId shard, ShardHandler& handler, const StreamSchedule& schedule)
      : channel_(channel), shard_(shard), handler_(handler), schedule_(schedule), ahead_(schedule.prefetch + 2) {}

  void run() {
    for (int i = 0; i < visit_count(); ++i) {
      offer_gradients(i + ahead_);
      send(i);
      take_gradients(false);
    }
    offer_gradients(visit_count());
    take_gradients(true);
    for (const std::vector<Ticket>& visit : leaving_) wait(visit);
  }

 private:
  struct Arriving {
    BlockId block;
    bool last;
    Ticket ticket;
  };

  /// Elements of the block that this shard owns.
  std::int64_t begin(BlockId b) const { return schedule_.blocks[b.index].bounds[shard_.index]; }
  std::int64_t end(BlockId b) const { return schedule_.blocks[b.index].bounds[shard_.index + 1]; }
  int visit_count() const { return static_cast<int>(schedule_.visits.size()); }
  static void wait(const std::vector<Ticket>& tickets) {
    const trace::Span span("wait for the csx to take weights");
    for (const Ticket& t : tickets) t.wait();
  }

  /// A csx asks for the blocks of the visits up to its own + prefetch. One visit more is made ready, so that its update is done in time.
  void send(int visit) {
    if (static_cast<int>(leaving_.size()) == ahead_) {
      wait(leaving_.front());
      leaving_.pop_front();
    }
    std::vector<Ticket>& tickets = leaving_.emplace_back();
    const std::int64_t size = bytes_of(schedule_.weights), piece = channel_.chunk_bytes() / size;
    for (const BlockId b : schedule_.visits[visit].receives) {
      for (std::int64_t from = begin(b); from < end(b); from += piece) {
        const std::int64_t to = std::min(from + piece, end(b));
        tickets.push_back(channel_.broadcast(shard_, handler_.on_send(b, from, to), (to - from) * size));
      }
    }
  }

  /// Posts the reductions of the visits before `horizon`, so that they are there when the csx send.
  void offer_gradients(int horizon) {
    for (; offered_ < std::min(horizon, visit_count()); ++offered_) {
      const Visit& v = schedule_.visits[offered_];
      for (std::size_t k = 0; k < v.gradients.size(); ++k) {
        const BlockId b = v.gradients[k];
        if (begin(b) == end(b)) continue;
        arriving_.push_back({b, v.gradient_is_last[k], reduce(b, v.landings.empty() ? Landing{} : v.landings[k])});
      }
    }
  }

  Ticket reduce(BlockId b, const Landing& landing) {
    std::vector<float*> carries;
    for (const int copy : landing.carries) carries.push_back(handler_.gradient(b, copy));
    return channel_.reduce(shard_, handler_.gradient(b, landing.copy), end(b) - begin(b), carries);
  }

  void take_gradients(bool all) {
    while (!arriving_.empty() && (all || arriving_.front().ticket.done())) {
      {
        const trace::Span span("wait for gradients");
        arriving_.front().ticket.wait();
      }
      handler_.on_gradient(arriving_.front().block, arriving_.front().last);
      arriving_.pop_front();
    }
  }

  Channel& channel_;
  ShardId shard_;
  ShardHandler& handler_;
  const StreamSchedule& schedule_;
  const int ahead_;  // visits
  int offered_ = 0;  // visits whose reductions have been posted
  std::deque<std::vector<Ticket>> leaving_;
  std::deque<Arriving> arriving_;
};

}  // namespace

void serve_shard(Channel& channel, ShardId shard, ShardHandler& handler, const StreamSchedule& schedule) {
  WSC_EXPECT(flaw(schedule, channel.layout().memoryx).empty());
  try {
    ShardPass(channel, shard, handler, schedule).run();
  } catch (...) {
    channel.halt();  // the shard's memory goes while the exception unwinds
    throw;
  }
}

}  // namespace wsc::fabric
