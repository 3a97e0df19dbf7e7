// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/stop.hpp"

#include <atomic>
#include <csignal>

namespace wsc::train {
namespace {

std::atomic<int> requested{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  if (signal == SIGINT && requested.load() == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  requested.store(signal);
}

}  // namespace

void watch_signals() {
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

int stop_signal() { return requested.load(); }

}  // namespace wsc::train
