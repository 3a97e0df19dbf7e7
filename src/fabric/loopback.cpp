// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "wsc/base/log.hpp"
#include "wsc/fabric/board.hpp"
#include "wsc/fabric/ordered_reduction.hpp"
#include "wsc/fabric/threaded_channel.hpp"

namespace wsc::fabric {
namespace {

class LoopbackPending final : public Pending {
 public:
  LoopbackPending(Board& board, Rank rank, std::shared_ptr<Board::Meeting> meeting)
      : board_(board), rank_(rank), meeting_(std::move(meeting)) {}
  bool done() override { return board_.serve(rank_, *meeting_); }

 private:
  Board& board_;
  Rank rank_;
  std::shared_ptr<Board::Meeting> meeting_;
};

/// What another csx of the window brings about.
template <class Happened>
class WindowPending final : public Pending {
 public:
  WindowPending(Board& board, Happened happened) : board_(board), happened_(std::move(happened)) {}
  bool done() override {
    board_.expect_running();
    return happened_();
  }

 private:
  Board& board_;
  Happened happened_;
};

/// One end of a letter.
class LetterPending final : public Pending {
 public:
  LetterPending(Board& board, std::shared_ptr<Board::Letter> letter) : board_(board), letter_(std::move(letter)) {}
  bool done() override { return board_.deliver(*letter_); }

 private:
  Board& board_;
  std::shared_ptr<Board::Letter> letter_;
};

/// The links of one rank in one shard's reductions.
class LoopbackLinks final : public Links {
 public:
  LoopbackLinks(Board& board, int shard, int self) : board_(board), shard_(shard), self_(self) {}

  std::unique_ptr<Pending> send(int to, const float* data, std::int64_t count, std::int64_t number) override {
    return pending(board_.post({shard_, number, self_, to}, reinterpret_cast<const std::byte*>(data), nullptr, bytes(count)));
  }
  std::unique_ptr<Pending> receive(int from, float* data, std::int64_t count, std::int64_t number) override {
    return pending(board_.post({shard_, number, from, self_}, nullptr, reinterpret_cast<std::byte*>(data), bytes(count)));
  }

 private:
  static std::int64_t bytes(std::int64_t count) { return count * static_cast<std::int64_t>(sizeof(float)); }
  std::unique_ptr<Pending> pending(std::shared_ptr<Board::Letter> letter) {
    return std::make_unique<LetterPending>(board_, std::move(letter));
  }

  Board& board_;
  int shard_, self_;  // self: csx, −1 = the shard
};

class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(Board& board, const Layout& layout, bool ordered, Rank rank)
      : board_(board), layout_(layout), ordered_(ordered), rank_(rank) {
    for (int m = 0; m < layout.memoryx; ++m) links_.emplace_back(board, m, layout.csx_of(rank).index);
    if (layout.is_memoryx(rank)) return;
    const CsxId csx = layout.csx_of(rank);
    window_ = &board.window(csx);
    signs_.emplace(Board::aligned(window_->signs), window_->members, layout.memoryx, board.member_of_window(csx));
  }

  void open() override {}
  Rank rank() const override { return rank_; }
  bool may_post(const Message& message) override {
    board_.expect_running();  // where nothing is posted yet, nobody else would notice the end
    return !signs_ || message.collective != Collective::broadcast || signs_->all_released(message.releases);
  }
  bool receives() const override { return !signs_ || signs_->leads(); }
  void release() noexcept override { signs_->release(); }
  std::byte* window() const override { return Board::aligned(window_->data); }
  std::unique_ptr<Pending> post(const Message& message) override {
    if (message.collective == Collective::make_window) {
      return window_pending([this, round = board_.ask(*window_, message.bytes)] { return board_.given(*window_, round); });
    }
    if (!signs_ || message.collective != Collective::broadcast) return join(message);
    if (signs_->leads()) return signs_->lead(message.shard, join(message));
    return window_pending([seen = signs_->follow(message.shard)] { return seen->done(); });
  }
  bool between_processes() const override { return false; }
  void halt() noexcept override { board_.stop(rank_); }
  void close() override {}
  void abort(int) noexcept override { board_.stop(rank_); }

 private:
  std::unique_ptr<Pending> join(const Message& message) {
    const bool control = !message.shard.valid();
    const int lane = control ? -1 : 2 * message.shard.index + (message.collective == Collective::reduce ? 1 : 0);
    const std::int64_t number = next_[lane]++;
    if (ordered_ && message.collective == Collective::reduce)
      return ordered_reduction(links_[static_cast<std::size_t>(message.shard.index)], layout_, rank_, message, number, scratch_);
    return std::make_unique<LoopbackPending>(board_, rank_, board_.join(rank_, message, number));
  }
  template <class Happened>
  std::unique_ptr<Pending> window_pending(Happened happened) {
    return std::make_unique<WindowPending<Happened>>(board_, std::move(happened));
  }

  Board& board_;
  const Layout layout_;
  const bool ordered_;
  Rank rank_;
  Board::Window* window_ = nullptr;   // of a csx
  std::optional<WindowSigns> signs_;  // of a csx
  std::vector<LoopbackLinks> links_;  // per shard
  std::map<int, std::int64_t> next_;  // per lane: position of the next message
  ScratchPool scratch_;
};

/// Keeps the exception to rethrow: the first cause, else the first consequence.
class FirstError {
 public:
  void add(std::exception_ptr error, bool consequence) {
    const std::lock_guard lock(mutex_);
    std::exception_ptr& place = consequence ? consequence_ : cause_;
    if (!place) place = error;
  }
  void rethrow() const {
    if (cause_) std::rethrow_exception(cause_);
    if (consequence_) std::rethrow_exception(consequence_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr cause_, consequence_;
};

void run_rank(Board& board, const Layout& layout, const ChannelSettings& settings, Rank rank, const std::function<void(Channel&)>& body,
              FirstError& first) {
  log::set_rank(rank.index, layout.ranks());
  ThreadedChannel channel(std::make_unique<LoopbackTransport>(board, layout, settings.ordered, rank), layout, settings);
  try {
    body(channel);
    return;
  } catch (const RunAborted&) {
    first.add(std::current_exception(), true);
  } catch (...) {
    first.add(std::current_exception(), false);
  }
  channel.halt();
}

}  // namespace

void run_loopback(const Layout& layout, const ChannelSettings& settings, const std::function<void(Channel&)>& body) {
  Board board(layout, settings.csx_per_window);
  FirstError first;
  {
    std::vector<std::jthread> ranks;
    for (int r = 0; r < layout.ranks(); ++r) ranks.emplace_back([&, r] { run_rank(board, layout, settings, Rank(r), body, first); });
  }
  first.rethrow();
}

}  // namespace wsc::fabric
