// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

/// The timeline of a run: what every thread did, and when. Threads note events in buffers of their own; somebody else writes them down
/// (train/timeline.hpp). Off, an event costs the look at a flag. Ranks may be threads of one process, so events belong to a rank.
namespace wsc::trace {

struct Event {
  const char* what = "";         ///< as `detail`, it outlives the trace
  const char* detail = nullptr;  ///< of which part of the model, or null
  double begin_s = 0, end_s = 0;
  std::int64_t number = -1;  ///< of the visit, step …; of a transfer: the first byte of its shard and direction since the start
  std::int64_t bytes = 0;    ///< > 0: a transfer, which may overlap others of its thread; else events of a thread nest
};

/// The events of one thread, in the order of their ends.
struct ThreadEvents {
  std::string name;
  std::vector<Event> events;
  std::int64_t dropped = 0;  ///< events beyond the limit of the buffer
};

/// Says which rank this thread works for and what it does. `name` is a literal.
void set_thread(int rank, const char* name);
int this_rank();

/// Forgets the events of this rank and begins to note new ones, in all threads of the process.
void start(int rank);
void stop();
/// All threads of a rank that noted anything; their buffers are empty after.
std::vector<ThreadEvents> take(int rank);

namespace detail {
extern std::atomic<bool> noting;
}
inline bool on() { return detail::noting.load(std::memory_order_relaxed); }

/// Seconds of this machine's monotonic clock.
inline double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void add(const Event& event);

/// An event as long as its own life. Events that nobody could see, shorter than a microsecond, leave nothing.
class Span {
 public:
  explicit Span(const char* what, const char* detail = nullptr, std::int64_t number = -1) {
    if (on()) event_ = {what, detail, now_s(), 0, number, 0};
  }
  ~Span() {
    if (event_.begin_s == 0) return;
    event_.end_s = now_s();
    if (event_.end_s - event_.begin_s >= 1e-6) add(event_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Event event_;
};

}  // namespace wsc::trace
