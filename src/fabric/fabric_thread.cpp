// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/fabric_thread.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "wsc/base/error.hpp"
#include "wsc/base/log.hpp"
#include "wsc/base/trace.hpp"

namespace wsc::fabric {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// Sleeps between two looks at the transport while nothing moves. Short enough not to be seen beside a message of a megabyte (some
// 100 us), long enough that waiting ranks leave the cores to those that compute.
constexpr microseconds shortest_pause{20}, longest_pause{200};
constexpr microseconds idle_pause{10000};  // with nothing posted
constexpr seconds halt_patience{2};        // the thread makes no blocking calls, so it parks at once unless the MPI library hangs
constexpr seconds abort_patience{4};       // then the process ends without the library; the launcher stops the others
constexpr seconds orphan_patience{8};      // after a failure, for the role to print its message and call abort
constexpr std::int64_t alignment = 64;
constexpr std::int64_t largest_chunk = std::int64_t{1} << 30;  // bytes; MPI counts are 32 bits

std::int64_t usable_chunk(std::int64_t wanted) { return std::clamp(wanted / alignment * alignment, alignment, largest_chunk); }

bool is_control(const Message& m) { return !m.shard.valid(); }

bool overlap(const std::byte* a, std::int64_t a_bytes, const std::byte* b, std::int64_t b_bytes) {
  return std::less<>()(a, b + b_bytes) && std::less<>()(b, a + a_bytes);
}

/// Do two messages touch the same memory?
bool overlap(const Message& a, const Message& b) {
  const auto meets = [&](const std::byte* place) {
    return overlap(place, a.bytes, b.data, b.bytes) ||
           std::any_of(b.carries.begin(), b.carries.end(), [&](const std::byte* c) { return overlap(place, a.bytes, c, b.bytes); });
  };
  return meets(a.data) || std::any_of(a.carries.begin(), a.carries.end(), meets);
}

}  // namespace

FabricThread::FabricThread(std::unique_ptr<Transport> transport, const Layout& layout, const ChannelSettings& settings)
    : transport_(std::move(transport)),
      layout_(layout),
      chunk_bytes_(usable_chunk(settings.chunk_bytes)),
      messages_in_flight_(static_cast<std::size_t>(std::max(1, settings.messages_in_flight))),
      exceptions_at_start_(std::uncaught_exceptions()),
      lanes_(static_cast<std::size_t>(2 * layout.memoryx + 1)) {
  for (int m = 0; m < layout.memoryx; ++m) {
    lanes_[static_cast<std::size_t>(m)].name = "weights of shard " + std::to_string(m);
    lanes_[static_cast<std::size_t>(layout.memoryx + m)].name = "gradients of shard " + std::to_string(m);
  }
  thread_ = std::thread([this] { run(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return opened_ || open_error_; });
  if (!open_error_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(open_error_);
}

FabricThread::~FabricThread() {
  if (std::uncaught_exceptions() > exceptions_at_start_) {
    log::error("an error passed through the running fabric, so the run is stopped on all ranks; another message says why");
    abort(static_cast<int>(ExitCode::system));
  }
  {
    const std::lock_guard lock(mutex_);
    finish_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Ticket FabricThread::push(const Message& transfer) {
  auto ticket = std::make_shared<Ticket::State>();
  ticket->chunks_left = is_control(transfer) ? 1 : (transfer.bytes + chunk_bytes_ - 1) / chunk_bytes_;
  const std::lock_guard lock(mutex_);
  if (failure_) {
    ticket->fail(*failure_);
  } else {
    incoming_.push_back({transfer, ticket});
    incoming_.back().rest.releases = releases_;
    changed_.notify_all();
  }
  return Ticket(ticket);
}

std::byte* FabricThread::window(std::int64_t bytes) {
  push({.collective = Collective::make_window, .bytes = bytes}).wait();
  return transport_->window();
}

void FabricThread::release() {
  transport_->release();
  ++releases_;
}

void FabricThread::halt() noexcept {
  if (std::this_thread::get_id() == thread_.get_id()) return;
  std::unique_lock lock(mutex_);
  halt_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, halt_patience, [&] { return parked_ || ended_; });
}

void FabricThread::abort(int exit_code) {
  if (std::this_thread::get_id() == thread_.get_id()) return transport_->abort(exit_code);
  std::unique_lock lock(mutex_);
  if (!abort_code_) abort_code_ = exit_code;
  changed_.notify_all();
  if (changed_.wait_for(lock, abort_patience, [&] { return ended_; })) return;
  std::fflush(nullptr);
  std::_Exit(exit_code);
}

Counters FabricThread::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void FabricThread::run() {
  if (!open()) return;
  Failure failure{"the run has been aborted", true};
  try {
    Order order = Order::go_on;
    while ((order = take_orders()) == Order::go_on) moved_ = move();
    if (order == Order::finish) {
      transport_->close();
      const std::lock_guard lock(mutex_);
      ended_ = true;
      return;
    }
  } catch (const RunAborted& e) {
    failure = {e.what(), true};
  } catch (const std::exception& e) {
    failure = {e.what(), false};
  }
  park(failure);
}

bool FabricThread::open() {
  std::exception_ptr error;
  try {
    transport_->open();
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (error) {
    open_error_ = error;
    ended_ = true;
  } else {
    rank_ = transport_->rank();
    log::set_rank(rank_.index, layout_.ranks());
    trace::set_thread(rank_.index, "fabric");
    opened_ = true;
  }
  changed_.notify_all();
  return opened_;
}

FabricThread::Order FabricThread::take_orders() {
  count_moving_time();
  std::unique_lock lock(mutex_);
  const auto called = [&] { return !incoming_.empty() || halt_ || abort_code_; };
  if (idle()) {
    while (!changed_.wait_for(lock, idle_pause, [&] { return called() || finish_; })) transport_->progress();
    pause_ = shortest_pause;
  } else if (!moved_) {
    if (!changed_.wait_for(lock, pause_, called)) pause_ = std::min(pause_ * 3 / 2, longest_pause);
  } else {
    pause_ = shortest_pause;
  }
  if (halt_ || abort_code_) return Order::stop;
  for (Transfer& t : incoming_) lanes_[lane_of(t.rest)].queue.push_back(std::move(t));
  incoming_.clear();
  return finish_ && idle() ? Order::finish : Order::go_on;
}

bool FabricThread::move() {
  bool moved = false;
  for (Lane& lane : lanes_) {
    if (lane.queue.empty() && lane.posted.empty()) continue;
    if (post_next(lane)) moved = true;
    if (test_posted(lane)) moved = true;
  }
  return moved;
}

bool FabricThread::post_next(Lane& lane) {
  bool moved = false;
  while (!lane.queue.empty()) {
    Transfer& transfer = lane.queue.front();
    const Message chunk = next_chunk(transfer.rest);
    if (!may_post(lane, chunk)) break;
    if (transfer.ticket->moving.begin_s == 0) begin_moving(lane, transfer);
    lane.posted.push_back({transport_->post(chunk), chunk, transfer.ticket});
    count(chunk);
    transfer.rest.data += chunk.bytes;
    for (std::byte*& c : transfer.rest.carries) c += chunk.bytes;
    transfer.rest.bytes -= chunk.bytes;
    if (transfer.rest.bytes == 0) lane.queue.pop_front();
    moved = true;
  }
  return moved;
}

void FabricThread::begin_moving(Lane& lane, const Transfer& transfer) {
  transfer.ticket->moving = {lane.name.c_str(), nullptr, trace::now_s(), 0, lane.bytes_so_far, transfer.rest.bytes};
  lane.bytes_so_far += transfer.rest.bytes;
}

bool FabricThread::test_posted(Lane& lane) {
  for (Posted& p : lane.posted) {
    if (!p.pending->done()) continue;
    p.pending.reset();
    if (--p.ticket->chunks_left > 0) continue;
    trace::Event& moved = p.ticket->moving;
    moved.end_s = trace::now_s();
    if (trace::on() && !is_control(p.message)) trace::add(moved);
    p.ticket->complete();
  }
  return std::erase_if(lane.posted, [](const Posted& p) { return p.pending == nullptr; }) > 0;
}

// A message that writes must not meet another one on the same memory: the gradient of a block is reduced in place once per wave, and
// MPI forbids two reductions on one buffer at a time. (Sends may share memory.)
bool FabricThread::may_post(const Lane& lane, const Message& chunk) const {
  if (lane.posted.size() >= messages_in_flight_ || !transport_->may_post(chunk)) return false;
  const bool writes = chunk.collective == Collective::reduce ? is_root(chunk) : !is_root(chunk);
  return !writes || std::none_of(lane.posted.begin(), lane.posted.end(), [&](const Posted& p) { return overlap(p.message, chunk); });
}

Message FabricThread::next_chunk(const Message& rest) const {
  Message chunk = rest;
  if (!is_control(rest)) chunk.bytes = std::min(rest.bytes, chunk_bytes_);
  return chunk;
}

std::size_t FabricThread::lane_of(const Message& message) const {
  if (is_control(message)) return lanes_.size() - 1;
  return static_cast<std::size_t>(message.shard.index + (message.collective == Collective::reduce ? layout_.memoryx : 0));
}

bool FabricThread::idle() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.queue.empty() && lane.posted.empty(); });
}

void FabricThread::count(const Message& chunk) {
  if (is_control(chunk) || (chunk.collective == Collective::broadcast && !transport_->receives())) return;
  if (!moving_since_) moving_since_ = Clock::now();  // it may be found complete before the next look
  const std::lock_guard lock(mutex_);
  ++counters_.messages;
  if (chunk.collective == Collective::broadcast) {
    (is_root(chunk) ? counters_.weight_bytes_sent : counters_.weight_bytes_received) += chunk.bytes;
  } else if (is_root(chunk)) {
    counters_.gradient_bytes_received += chunk.bytes * layout_.csx;
  } else {
    counters_.gradient_bytes_sent += chunk.bytes;
  }
}

void FabricThread::count_moving_time() {
  const bool moving = std::any_of(lanes_.begin(), lanes_.end() - 1, [](const Lane& lane) { return !lane.posted.empty(); });
  const auto now = Clock::now();
  if (moving_since_) {
    const std::lock_guard lock(mutex_);
    counters_.moving_s += std::chrono::duration<double>(now - *moving_since_).count();
  }
  moving_since_ = moving ? std::optional(now) : std::nullopt;
}

void FabricThread::fail_all(const Failure& failure) {
  for (Lane& lane : lanes_) {
    for (const Posted& p : lane.posted) p.ticket->fail(failure);
    for (const Transfer& t : lane.queue) t.ticket->fail(failure);
  }
  for (const Transfer& t : incoming_) t.ticket->fail(failure);
  incoming_.clear();
}

void FabricThread::park(const Failure& failure) {
  transport_->halt();
  std::unique_lock lock(mutex_);
  failure_ = failure;
  fail_all(failure);
  parked_ = true;
  changed_.notify_all();
  // The role whose ticket failed prints its message and calls abort. Where it does not (it computes on, or hangs), the run still ends.
  if (!changed_.wait_for(lock, orphan_patience, [&] { return abort_code_ || finish_; })) log::error(failure.message);
  const int code = abort_code_.value_or(static_cast<int>(ExitCode::system));
  lock.unlock();
  transport_->abort(code);
  lock.lock();
  ended_ = true;
  changed_.notify_all();
}

}  // namespace wsc::fabric
