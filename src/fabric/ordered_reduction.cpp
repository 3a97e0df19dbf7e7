// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/ordered_reduction.hpp"

#include <algorithm>
#include <utility>

#include "wsc/base/error.hpp"
#include "wsc/fabric/reduction_tree.hpp"

namespace wsc::fabric {
namespace {

std::int64_t floats(const Message& m) { return m.bytes / static_cast<std::int64_t>(sizeof(float)); }
float* as_floats(std::byte* data) { return reinterpret_cast<float*>(data); }

/// Two messages of scratch out of a pool.
class Scratch {
 public:
  Scratch(ScratchPool& pool, std::int64_t count) : pool_(pool), count_(static_cast<std::size_t>(count)) {
    if (!pool_.empty()) {
      memory_ = std::move(pool_.back());
      pool_.pop_back();
    }
    memory_.resize(std::max(memory_.size(), 2 * count_));
  }
  ~Scratch() { pool_.push_back(std::move(memory_)); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  float* half(std::size_t i) { return memory_.data() + i * count_; }

 private:
  ScratchPool& pool_;
  std::size_t count_;
  std::vector<float> memory_;
};

/// A csx that adds what others send to its own contribution and passes the sum on.
class Node final : public Pending {
 public:
  Node(Links& links, TreePart part, const Message& m, std::int64_t number, ScratchPool& pool)
      : links_(links), part_(std::move(part)), own_(as_floats(m.data)), count_(floats(m)), number_(number), scratch_(pool, count_) {
    next_ = links_.receive(part_.children[0], scratch_.half(0), count_, number_);
  }

  bool done() override {
    while (taken_ < part_.children.size()) {
      if (!next_->done()) return false;
      float* const sum = scratch_.half(0);
      const float* const more = taken_ == 0 ? own_ : scratch_.half(1);
      for (std::int64_t e = 0; e < count_; ++e) sum[e] += more[e];
      ++taken_;
      next_ = taken_ < part_.children.size() ? links_.receive(part_.children[taken_], scratch_.half(1), count_, number_)
                                             : links_.send(part_.parent, sum, count_, number_);
    }
    return next_->done();
  }

 private:
  Links& links_;
  const TreePart part_;
  const float* const own_;
  const std::int64_t count_, number_;
  Scratch scratch_;
  std::unique_ptr<Pending> next_;  // goes before the scratch it fills
  std::size_t taken_ = 0;          // children
};

/// The shard: adds the sum of the tree's two halves to its memory.
class Root final : public Pending {
 public:
  Root(Links& links, const Layout& layout, const Message& m, std::int64_t number, ScratchPool& pool)
      : message_(m), count_(floats(m)), scratch_(pool, count_) {
    for (const int csx : tree_heads(layout.csx, number))
      arriving_.push_back(links.receive(csx, scratch_.half(arriving_.size()), count_, number));
  }

  bool done() override {
    for (std::unique_ptr<Pending>& half : arriving_) {
      if (half && half->done()) half.reset();
    }
    if (std::any_of(arriving_.begin(), arriving_.end(), [](const auto& half) { return half != nullptr; })) return false;
    add();
    carry();
    return true;
  }

 private:
  void add() {
    float* const sum = as_floats(message_.data);
    const float* const left = scratch_.half(0);
    const float* const right = scratch_.half(1);
    if (arriving_.size() == 1) {
      for (std::int64_t e = 0; e < count_; ++e) sum[e] += left[e];
    } else {
      for (std::int64_t e = 0; e < count_; ++e) sum[e] += left[e] + right[e];
    }
  }

  void carry() {
    float* from = as_floats(message_.data);
    for (std::byte* const next : message_.carries) {
      float* const to = as_floats(next);
      for (std::int64_t e = 0; e < count_; ++e) {
        to[e] += from[e];
        from[e] = 0;
      }
      from = to;
    }
  }

  const Message message_;
  const std::int64_t count_;
  Scratch scratch_;
  std::vector<std::unique_ptr<Pending>> arriving_;
};

}  // namespace

std::unique_ptr<Pending> ordered_reduction(Links& links, const Layout& layout, Rank rank, const Message& m, std::int64_t number,
                                           ScratchPool& pool) {
  if (layout.is_memoryx(rank)) return std::make_unique<Root>(links, layout, m, number, pool);
  TreePart part = tree_part(layout.csx_of(rank).index, layout.csx, number);
  if (part.children.empty()) return links.send(part.parent, as_floats(m.data), floats(m), number);
  return std::make_unique<Node>(links, std::move(part), m, number, pool);
}

}  // namespace wsc::fabric
