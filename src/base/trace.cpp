// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/trace.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace wsc::trace {
namespace {

constexpr std::size_t most_events = 200'000;  // of a thread: 10 MB

/// Its own thread adds, whoever takes empties it.
struct Buffer {
  std::mutex mutex;
  int rank = 0;
  ThreadEvents noted;
};

struct Buffers {
  std::mutex mutex;
  std::vector<std::shared_ptr<Buffer>> all;  // of ended threads too
};

Buffers& buffers() {
  static Buffers b;
  return b;
}

thread_local int rank_of_thread = 0;
thread_local const char* name_of_thread = "thread";
thread_local std::shared_ptr<Buffer> mine;

Buffer& buffer() {
  if (!mine) {
    mine = std::make_shared<Buffer>();
    mine->rank = rank_of_thread;
    mine->noted.name = name_of_thread;
    const std::lock_guard lock(buffers().mutex);
    buffers().all.push_back(mine);
  }
  return *mine;
}

}  // namespace

std::atomic<bool> detail::noting{false};

void set_thread(int rank, const char* name) {
  rank_of_thread = rank;
  name_of_thread = name;
  mine.reset();
}

int this_rank() { return rank_of_thread; }

void start(int rank) {
  take(rank);
  detail::noting = true;
}

void stop() { detail::noting = false; }

std::vector<ThreadEvents> take(int rank) {
  std::vector<ThreadEvents> taken;
  const std::lock_guard lock(buffers().mutex);
  for (const std::shared_ptr<Buffer>& b : buffers().all) {
    const std::lock_guard own(b->mutex);
    if (b->rank != rank || (b->noted.events.empty() && b->noted.dropped == 0)) continue;
    taken.push_back(std::exchange(b->noted, {b->noted.name, {}, 0}));
  }
  std::erase_if(buffers().all, [&](const std::shared_ptr<Buffer>& b) { return b->rank == rank && b.use_count() == 1; });
  return taken;
}

void add(const Event& event) {
  Buffer& b = buffer();
  const std::lock_guard lock(b.mutex);
  if (b.noted.events.size() < most_events)
    b.noted.events.push_back(event);
  else
    ++b.noted.dropped;
}

}  // namespace wsc::trace
