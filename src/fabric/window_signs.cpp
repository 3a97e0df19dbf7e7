// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/window_signs.hpp"

#include <utility>

#include "wsc/base/error.hpp"

namespace wsc::fabric {

class WindowSigns::Leading final : public Pending {
 public:
  Leading(WindowSigns& signs, ShardId shard, std::int64_t number, std::unique_ptr<Pending> broadcast)
      : signs_(signs), shard_(shard), number_(number), broadcast_(std::move(broadcast)) {}
  bool done() override {
    if (!broadcast_->done()) return false;
    signs_.complete(shard_, number_);
    return true;
  }

 private:
  WindowSigns& signs_;
  ShardId shard_;
  std::int64_t number_;
  std::unique_ptr<Pending> broadcast_;
};

class WindowSigns::Following final : public Pending {
 public:
  Following(const Sign& arrived, std::int64_t number) : arrived_(arrived), number_(number) {}
  bool done() override { return arrived_.count.load(std::memory_order_acquire) > number_; }

 private:
  const Sign& arrived_;
  std::int64_t number_;
};

std::size_t WindowSigns::bytes(int members, int shards) { return static_cast<std::size_t>(members + shards) * sizeof(Sign); }

void WindowSigns::make(std::byte* memory, int members, int shards) {
  std::uninitialized_default_construct_n(reinterpret_cast<Sign*>(memory), members + shards);
}

WindowSigns::WindowSigns(std::byte* memory, int members, int shards, int member)
    : released_(reinterpret_cast<Sign*>(memory)),
      arrived_(released_ + members),
      members_(members),
      member_(member),
      posted_(static_cast<std::size_t>(shards)),
      completed_(static_cast<std::size_t>(shards)) {}

void WindowSigns::release() noexcept { released_[member_].count.fetch_add(1, std::memory_order_release); }

bool WindowSigns::all_released(std::int64_t times) const {
  for (int i = 0; i < members_; ++i) {
    if (released_[i].count.load(std::memory_order_acquire) < times) return false;
  }
  return true;
}

std::unique_ptr<Pending> WindowSigns::lead(ShardId shard, std::unique_ptr<Pending> broadcast) {
  WSC_EXPECT(leads());
  const auto m = static_cast<std::size_t>(shard.index);
  completed_[m].push_back(false);
  return std::make_unique<Leading>(*this, shard, posted_[m]++, std::move(broadcast));
}

std::unique_ptr<Pending> WindowSigns::follow(ShardId shard) {
  WSC_EXPECT(!leads());
  return std::make_unique<Following>(arrived_[shard.index], posted_[static_cast<std::size_t>(shard.index)]++);
}

void WindowSigns::complete(ShardId shard, std::int64_t number) {
  Sign& arrived = arrived_[shard.index];
  std::deque<bool>& completed = completed_[static_cast<std::size_t>(shard.index)];
  std::int64_t first = arrived.count.load(std::memory_order_relaxed);
  completed[static_cast<std::size_t>(number - first)] = true;
  for (; !completed.empty() && completed.front(); ++first) completed.pop_front();
  arrived.count.store(first, std::memory_order_release);
}

}  // namespace wsc::fabric
