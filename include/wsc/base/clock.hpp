// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace wsc {

/// Seconds since construction or the last restart, monotonic.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void restart() { start_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Adds the seconds of its own life to a sum.
class Timed {
 public:
  explicit Timed(double& sum) : sum_(sum) {}
  ~Timed() { sum_ += watch_.seconds(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& sum_;
  Stopwatch watch_;
};

}  // namespace wsc
