// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gradient_memory.hpp"

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
    grow(own_, own_elements(), "wsc::fabric::gradients");
  }

  std::vector<const void*> wait(int visit) override {
    WSC_EXPECT(schedule_ != nullptr && visit == next_);
    ++next_;
    std::vector<const void*> weights;
    for (const BlockId b : schedule_->visits[visit].receives)
      weights.push_back(elements(b) > 0 ? shard_.on_send(b, 0, elements(b)) : nullptr);
    return weights;
  }

  std::vector<float*> gradients(int visit) override {
    WSC_EXPECT(visit + 1 == next_);
    const Visit& v = schedule_->visits[visit];
    std::vector<float*> sums;
    for (std::size_t k = 0; k < v.gradients.size(); ++k) {
      const std::int64_t n = elements(v.gradients[k]);
      if (n > 0 && lands_elsewhere(v, k)) {
        sums.push_back(own_.data() + v.gradient_offsets[k]);
        zero(Exec(), sums.back(), n);
      } else {
        sums.push_back(n > 0 ? shard_.gradient(v.gradients[k], v.landings.empty() ? 0 : v.landings[k].copy) : nullptr);
      }
    }
    return sums;
  }

  void send(int visit) override {
    WSC_EXPECT(visit + 1 == next_);
    const Visit& v = schedule_->visits[visit];
    for (std::size_t k = 0; k < v.gradients.size(); ++k) {
      if (elements(v.gradients[k]) == 0) continue;
      if (!v.landings.empty()) land(v, k);
      shard_.on_gradient(v.gradients[k], v.gradient_is_last[k]);
    }
  }

  void finish() override {
    WSC_EXPECT(schedule_ != nullptr && next_ == static_cast<int>(schedule_->visits.size()));
    schedule_ = nullptr;
  }

  ExposedWait exposed_wait() const override { return {}; }  // nothing travels

 private:
  std::int64_t elements(BlockId b) const { return schedule_->blocks[static_cast<std::size_t>(b.index)].elements; }

  static bool lands_elsewhere(const Visit& v, std::size_t k) { return !v.landings.empty() && !v.landings[k].fresh; }

  std::int64_t own_elements() const {
    std::int64_t most = 0;
    for (const Visit& v : schedule_->visits)
      for (std::size_t k = 0; k < v.gradients.size(); ++k)
        if (lands_elsewhere(v, k)) most = std::max(most, v.gradient_offsets[k] + elements(v.gradients[k]));
    return most;
  }

  /// What reductions do in the other engines.
  void land(const Visit& v, std::size_t k) {
    const BlockId b = v.gradients[k];
    const Landing& landing = v.landings[k];
    float* sum = shard_.gradient(b, landing.copy);
    if (!landing.fresh) add(Exec(), sum, own_.data() + v.gradient_offsets[k], elements(b));
    for (const int copy : landing.carries) {
      float* const next = shard_.gradient(b, copy);
      carry(Exec(), next, sum, elements(b));
      sum = next;
    }
  }

  ShardHandler& shard_;
  const StreamSchedule* schedule_ = nullptr;
  Buffer<float> own_;  // contributions that do not land on zeros
  int next_ = 0;
};

}  // namespace

std::unique_ptr<CsxStreams> make_null_streams(ShardHandler& shard) { return std::make_unique<NullStreams>(shard); }

}  // namespace wsc::fabric
