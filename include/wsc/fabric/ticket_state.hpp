// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "wsc/base/trace.hpp"
#include "wsc/fabric/channel.hpp"

namespace wsc::fabric {

/// Why transfers cannot go on. Kept as text, not as an exception, so that each waiter throws an object of its own.
struct Failure {
  std::string message;
  bool aborted = false;  ///< a consequence (the run was aborted) rather than the cause
};

[[noreturn]] void throw_failure(const Failure& failure);

/// What the waiters of a transfer and the fabric thread share.
struct Ticket::State {
  void complete();
  void fail(const Failure& failure);

  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool failed = false;
  Failure failure;
  std::int64_t chunks_left = 0;  ///< used by the fabric thread only, as the next
  trace::Event moving;           ///< the transfer in the timeline
};

}  // namespace wsc::fabric
