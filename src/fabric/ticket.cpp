// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/clock.hpp"
#include "wsc/base/error.hpp"
#include "wsc/fabric/ticket_state.hpp"

namespace wsc::fabric {

void throw_failure(const Failure& failure) {
  if (failure.aborted) throw RunAborted(failure.message);
  throw SystemError(failure.message);
}

void Ticket::State::complete() {
  const std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
}

void Ticket::State::fail(const Failure& why) {
  const std::lock_guard lock(mutex);
  if (done) return;
  failed = true;
  failure = why;
  changed.notify_all();
}

bool Ticket::done() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->done || state_->failed;
}

double Ticket::wait() const {
  if (!state_) return 0;
  std::unique_lock lock(state_->mutex);
  double slept_s = 0;
  if (!state_->done && !state_->failed) {
    const Stopwatch slept;
    state_->changed.wait(lock, [&] { return state_->done || state_->failed; });
    slept_s = slept.seconds();
  }
  if (state_->failed) throw_failure(state_->failure);
  return slept_s;
}

}  // namespace wsc::fabric
