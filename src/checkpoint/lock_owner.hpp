// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace wsc::checkpoint {

/// Who holds a lock: the text of the lock file, "field: value" a line.
struct LockOwner {
  std::string host, boot_id, pid_namespace;
  std::int64_t process = 0, start_ticks = 0;  ///< ticks since boot at which the process began: tells it from a later one of its number
  std::string job;                            ///< "slurm 4711"; empty outside of batch systems
  std::int64_t restarts = 0;                  ///< times the job was requeued
  std::string since;                          ///< UTC
  bool flocked = false;                       ///< it holds flock() on the file as long as it lives
  std::int64_t stale_after_s = 0;
  std::string token;  ///< of this one acquisition

  static LockOwner self();
  /// Always of the same length for one owner, so that it can be rewritten in place.
  std::string text() const;
  static std::optional<LockOwner> parse(const std::string& text);
  /// "process 12 on host a, job slurm 4711, since 2025-01-31T12:00:00Z".
  std::string description() const;
};

enum class Liveness { alive, gone, unknown };

/// What can be known at once, without looking at the lock's age. `flock_is_free`: this process has just got flock() on the file.
Liveness liveness(const LockOwner& owner, const LockOwner& self, bool flock_is_free);

}  // namespace wsc::checkpoint
