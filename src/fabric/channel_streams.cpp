// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "gradient_memory.hpp"

#include "wsc/base/error.hpp"
#include "wsc/base/trace.hpp"
#include "wsc/fabric/streams.hpp"

namespace wsc::fabric {
namespace {

class ChannelStreams final : public CsxStreams {
 public:
  explicit ChannelStreams(Channel& channel) : channel_(channel) { WSC_EXPECT(!channel.layout().is_memoryx(channel.rank())); }
  ~ChannelStreams() override {
    if (schedule_ != nullptr) channel_.halt();  // an exception ends the pass: the buffers go, so nothing may move any more
  }

  void begin(const StreamSchedule& schedule) override {
    WSC_EXPECT(schedule_ == nullptr);
    WSC_EXPECT(flaw(schedule, channel_.layout().memoryx).empty());
    if (const std::int64_t bytes = schedule.window_elements * bytes_of(schedule.weights); bytes > window_bytes_) {
      window_ = channel_.window(bytes);
      window_bytes_ = bytes;
    }
    grow(gradients_, schedule.gradient_elements, "wsc::fabric::gradients");
    schedule_ = &schedule;
    next_ = handed_out_ = 0;
    exposed_wait_ = {};
  }

  std::vector<const void*> wait(int visit) override;
  std::vector<float*> gradients(int visit) override;
  void send(int visit) override;
  void finish() override;
  ExposedWait exposed_wait() const override { return exposed_wait_; }

 private:
  struct Leaving {
    std::int64_t begin, end;  // elements of the gradient buffers
    std::vector<Ticket> parts;
  };

  void receive(const Visit& visit);
  static void wait_for(const std::vector<Ticket>& tickets, const char* cause, double& cause_s) {
    const trace::Span span(cause);
    for (const Ticket& t : tickets) cause_s += t.wait();
  }
  /// Waits until no gradient is on its way out of elements [begin, end).
  void wait_until_left(std::int64_t begin, std::int64_t end);
  const Visit& visit_at(int i) const { return schedule_->visits[static_cast<std::size_t>(i)]; }
  const BlockSplit& split(BlockId b) const { return schedule_->blocks[static_cast<std::size_t>(b.index)]; }
  int visit_count() const { return static_cast<int>(schedule_->visits.size()); }
  /// Element `offset` of the window.
  std::byte* in_window(std::int64_t offset) const { return window_ + offset * bytes_of(schedule_->weights); }

  Channel& channel_;
  const StreamSchedule* schedule_ = nullptr;
  std::byte* window_ = nullptr;  // shared with the other csx of the node
  std::int64_t window_bytes_ = 0;
  Buffer<float> gradients_;
  std::deque<std::vector<Ticket>> arriving_;  // visits next_, next_ + 1, …
  std::vector<Leaving> leaving_;
  int next_ = 0;        // the next visit to wait for
  int handed_out_ = 0;  // the visit whose gradient buffers may be handed out next
  ExposedWait exposed_wait_;
};

std::vector<const void*> ChannelStreams::wait(int visit) {
  WSC_EXPECT(schedule_ != nullptr && visit == next_);
  // The blocks of visit − 1 may go now, and that is all the room that visit + prefetch needs.
  channel_.release();
  const int horizon = std::min(visit + schedule_->prefetch, visit_count() - 1);
  for (int i = visit + static_cast<int>(arriving_.size()); i <= horizon; ++i) receive(visit_at(i));
  wait_for(arriving_.front(), "wait for weights", visit == 0 ? exposed_wait_.first_weights : exposed_wait_.weights);
  arriving_.pop_front();
  ++next_;
  std::vector<const void*> weights;
  for (const std::int64_t offset : visit_at(visit).window_offsets) weights.push_back(in_window(offset));
  return weights;
}

void ChannelStreams::receive(const Visit& visit) {
  std::vector<Ticket>& tickets = arriving_.emplace_back();
  for (std::size_t k = 0; k < visit.receives.size(); ++k) {
    const BlockSplit& block = split(visit.receives[k]);
    for (int m = 0; m < channel_.layout().memoryx; ++m) {
      const std::int64_t elements = block.bounds[m + 1] - block.bounds[m];
      tickets.push_back(
          channel_.broadcast(ShardId(m), in_window(visit.window_offsets[k] + block.bounds[m]), elements * bytes_of(schedule_->weights)));
    }
  }
}

std::vector<float*> ChannelStreams::gradients(int visit) {
  WSC_EXPECT(visit + 1 == next_ && visit >= handed_out_);
  handed_out_ = visit + 1;
  const Visit& v = visit_at(visit);
  std::vector<float*> sums;
  for (std::size_t k = 0; k < v.gradients.size(); ++k) {
    const std::int64_t begin = v.gradient_offsets[k], count = split(v.gradients[k]).elements;
    wait_until_left(begin, begin + count);
    zero(Exec(), gradients_.data() + begin, count);
    sums.push_back(gradients_.data() + begin);
  }
  return sums;
}

void ChannelStreams::wait_until_left(std::int64_t begin, std::int64_t end) {
  for (const Leaving& l : leaving_) {
    if (l.begin < end && begin < l.end) wait_for(l.parts, "wait for gradient buffers", exposed_wait_.gradient_buffers);
  }
  std::erase_if(leaving_,
                [](const Leaving& l) { return std::all_of(l.parts.begin(), l.parts.end(), [](const Ticket& t) { return t.done(); }); });
}

void ChannelStreams::send(int visit) {
  WSC_EXPECT(visit + 1 == next_ && (handed_out_ == next_ || visit_at(visit).gradients.empty()));
  const Visit& v = visit_at(visit);
  for (std::size_t k = 0; k < v.gradients.size(); ++k) {
    const BlockSplit& block = split(v.gradients[k]);
    Leaving& l = leaving_.emplace_back(Leaving{v.gradient_offsets[k], v.gradient_offsets[k] + block.elements, {}});
    for (int m = 0; m < channel_.layout().memoryx; ++m) {
      l.parts.push_back(channel_.reduce(ShardId(m), gradients_.data() + l.begin + block.bounds[m], block.bounds[m + 1] - block.bounds[m]));
    }
  }
}

void ChannelStreams::finish() {
  WSC_EXPECT(schedule_ != nullptr && next_ == visit_count());
  for (const Leaving& l : leaving_) wait_for(l.parts, "wait for the last gradients to leave", exposed_wait_.finish);
  leaving_.clear();
  schedule_ = nullptr;
}

}  // namespace

std::unique_ptr<CsxStreams> make_channel_streams(Channel& channel) { return std::make_unique<ChannelStreams>(channel); }

}  // namespace wsc::fabric
