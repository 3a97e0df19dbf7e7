// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>
#include <vector>

#include "wsc/base/clock.hpp"
#include "wsc/train/member.hpp"

namespace wsc::train {

/// Rank 0: the checkpoints of a run. A save goes on beside the passes after it: the shards write what their updates leave behind, then
/// their checksums are collected, then a thread finishes the file. One save at a time. Where one fails its file is removed and the run
/// ends: LeaderStop, or what Control::agree() throws.
class Saves {
 public:
  /// `last_step`: of the checkpoint that the run starts from; −1 = none.
  Saves(Member& member, const RunSettings& settings, std::int64_t last_step);
  ~Saves();  ///< the file of a save that is not being finished goes

  /// Begins to save; completes the save before this one first. `order` opens the pass and brings the decision that leads to `state`.
  void open(const PassOrder& order, const checkpoint::RunState& state);
  /// Between passes: goes on with the save under way where that does not mean waiting.
  void advance(const std::vector<RankReport>& reports);
  /// Waits for the save under way.
  void complete();
  /// Step of the last complete checkpoint; −1 = none yet.
  std::int64_t last_step() const { return last_step_; }

 private:
  struct Finished {
    std::filesystem::path path;
    double seconds;  ///< since the opening
    double bytes;
  };
  struct UnderWay {
    checkpoint::SaveFile file;
    std::int64_t step;
    Stopwatch watch;
    std::future<Finished> finished;  ///< valid once all checksums are there
  };

  template <class Body>
  void or_discard(const Body& body);
  void collect();
  void conclude();

  Member& member_;
  const RunSettings& settings_;
  std::int64_t last_step_;
  std::optional<UnderWay> under_way_;
};

}  // namespace wsc::train
