// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "wsc/checkpoint/save.hpp"

namespace wsc::checkpoint {

class PosixFile;

/// Writes a shard's pieces into the file of a save while the shard is in use: a thread of low priority takes units of them in the order
/// in which they become readable. What it has not taken when the shard needs it is written by release(), so that a thread that gets no
/// processor holds the shard up for as long as a write into memory takes. Each unit is checked for finite values and summed up as it is
/// written.
class ShardWriter final : public memoryx::StateReader {
 public:
  /// `graph` must outlive the writer, and so must the arrays. SystemError where the file cannot be opened.
  ShardWriter(const SaveFile& file, const Graph& graph, const std::vector<Piece>& pieces);
  /// Gives up what has not been written.
  ~ShardWriter() override;

  void readable(ParamId param, std::int64_t begin, std::int64_t end) override;
  void release(ParamId param, std::int64_t begin, std::int64_t end) override;

  /// Nothing more to do: all is on disk, or a write has failed.
  bool done() const;
  /// Once all is readable: helps to write, waits until it is on disk, returns the checksums. Throws what failed: SystemError for a write;
  /// NumericalError where a value is not finite (such a state never replaces a good one).
  std::vector<PieceChecksum> finish();

 private:
  enum class State { waiting, readable, taken, written };
  /// Elements of a parameter with all their arrays.
  struct Unit {
    Piece piece;
    std::int64_t missing;  // elements that are not readable yet
    State state = State::waiting;
  };
  using Lock = std::unique_lock<std::mutex>;

  void run();
  /// The units that hold [begin, end) of a parameter.
  std::span<Unit> units_of(ParamId param, std::int64_t begin, std::int64_t end);
  void take(Unit& unit, Lock& lock);
  std::vector<PieceChecksum> write(const Piece& piece) const;

  const SaveFile file_;
  const Graph& graph_;
  std::unique_ptr<PosixFile> out_;
  std::vector<Unit> units_;              // by parameter, then by place
  std::vector<std::size_t> first_unit_;  // of each parameter
  std::deque<Unit*> queue_;              // readable, some of them taken already

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t unwritten_ = 0;
  bool done_ = false, give_up_ = false;
  std::exception_ptr failure_;
  std::vector<PieceChecksum> checksums_;
  std::thread thread_;
};

}  // namespace wsc::checkpoint
