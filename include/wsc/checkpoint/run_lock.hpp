// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

namespace wsc::checkpoint {

/// Keeps two runs out of one directory: the file `lock` in it names its owner. It is taken by a hard link (or an exclusive create where
/// links are refused) and, where the file system has locks, also flock()ed.
///
/// A lock left behind counts as stale, and is taken over,
///   on the same machine (same boot): at once, when its owner's process is gone or its number now belongs to a later process;
///   by a requeued batch job: at once, when the owner is an earlier start of the same job;
///   otherwise: when its time stamp is older than `stale after` seconds, a number that the owner keeps in the file: 600 until its first
///   touch(), then the larger of 120 and four times the longest pause between its touches. Ages are measured by the file system's clock.
/// A lock that somebody holds with flock() is never stale.
class RunLock {
 public:
  struct Options {
    double wait_s = 150;        ///< wait this long at most for a lock of another machine to become stale
    double touch_every_s = 10;  ///< touch() does nothing more often than this
    bool use_flock = true;      ///< false: as on a file system without locks
  };

  /// Creates the directory if need be. DataError where it cannot be written or another run has it: names host, process, job and since when.
  static RunLock acquire(const std::filesystem::path& run_dir, const Options& options);
  static RunLock acquire(const std::filesystem::path& run_dir) { return acquire(run_dir, Options{}); }

  RunLock(RunLock&&) noexcept;
  RunLock& operator=(RunLock&&) noexcept;
  ~RunLock();  ///< releases

  /// "I am alive": call it every step and while waiting for long; cheap, it works every 10 s at most. DataError where another run has taken
  /// the directory over meanwhile; a lock that was removed by hand is made again.
  void touch();
  void release();

 private:
  struct Impl;
  explicit RunLock(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wsc::checkpoint
