// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/error.hpp"
#include "wsc/fabric/streams.hpp"

namespace wsc::fabric {
namespace {

class NullStreams final : public CsxStreams {
 public:
  explicit NullStreams(ShardHandler& shard) : shard_(shard) {}

  void begin(const StreamSchedule& schedule) override {
    schedule_ = &schedule;
    next_ = 0;
  }

  std::vector<const float*> wait(int visit) override {
    WSC_EXPECT(schedule_ != nullptr && visit == next_);
    ++next_;
    std::vector<const float*> weights;
    for (const BlockId b : schedule_->visits[visit].receives)
      weights.push_back(elements(b) > 0 ? shard_.on_send(b, 0, elements(b)) : nullptr);
    return weights;
  }

  std::vector<float*> gradients(int visit) override {
    WSC_EXPECT(visit + 1 == next_);
    std::vector<float*> sums;
    for (const BlockId b : schedule_->visits[visit].gradients) sums.push_back(elements(b) > 0 ? shard_.gradient(b) : nullptr);
    return sums;
  }

  void send(int visit) override {
    WSC_EXPECT(visit + 1 == next_);
    const Visit& v = schedule_->visits[visit];
    for (std::size_t k = 0; k < v.gradients.size(); ++k) {
      if (elements(v.gradients[k]) > 0) shard_.on_gradient(v.gradients[k], v.gradient_is_last[k]);
    }
  }

  void finish() override {
    WSC_EXPECT(schedule_ != nullptr && next_ == static_cast<int>(schedule_->visits.size()));
    schedule_ = nullptr;
  }

  double exposed_wait_s() const override { return 0; }  // nothing travels

 private:
  std::int64_t elements(BlockId b) const { return schedule_->blocks[static_cast<std::size_t>(b.index)].elements; }

  ShardHandler& shard_;
  const StreamSchedule* schedule_ = nullptr;
  int next_ = 0;
};

}  // namespace

std::unique_ptr<CsxStreams> make_null_streams(ShardHandler& shard) { return std::make_unique<NullStreams>(shard); }

}  // namespace wsc::fabric
