// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "wsc/checkpoint/load.hpp"
#include "wsc/checkpoint/save.hpp"
#include "wsc/checkpoint/shard_writer.hpp"
#include "wsc/train/control.hpp"
#include "wsc/train/roles.hpp"
#include "wsc/train/timeline.hpp"

namespace wsc::train {

/// The data sets of a run; none where the run does not use them.
struct RunData {
  std::unique_ptr<data::Dataset> train, evaluate;
};

/// One rank of the cluster: a memoryx role, a csx role, or (one process, null fabric) both. It obeys the orders of rank 0.
class Member {
 public:
  Member(const Graph& graph, const Settings& settings, const Plans& plans, const Setup& setup, const RunData& data, Control control);

  Control& control() { return control_; }
  const Graph& graph() const { return graph_; }
  const Plans& plans() const { return plans_; }
  memoryx::Shard* shard() { return memoryx_ ? &memoryx_->shard() : nullptr; }
  CsxRole* csx() { return csx_ ? csx_.get() : nullptr; }
  const std::vector<std::string>& state_names() const { return state_names_; }

  /// Fresh weights from the seed.
  void initialise(std::uint64_t seed);
  /// All ranks: the shards begin to write the checkpoint that rank 0 has created (`file` matters there only), with the state after the
  /// order's decision. That goes on beside the passes that follow, which make the updates.
  void open_save(const PassOrder& order, const checkpoint::SaveFile& file);
  /// All ranks: makes the updates and writes what is not there yet; waits for the disk. Returns all checksums on rank 0.
  std::vector<checkpoint::PieceChecksum> collect_save();
  /// All ranks: the shards read their pieces of the checkpoint that rank 0 has chosen; rank 0 checks them against its checksums.
  void load(const std::filesystem::path& path, checkpoint::What what);

  /// All ranks: begins the timeline, before anything that it shows.
  void begin_timeline(const RunSettings& settings, const fabric::Layout& layout) { timeline_.emplace(settings, layout, control_); }
  const std::optional<Timeline>& timeline() const { return timeline_; }
  /// All ranks: writes it and ends it.
  void write_timeline();

  /// Does its part of a step or evaluation and reports.
  RankReport run(const PassOrder& order);

 private:
  const Graph& graph_;
  const Plans& plans_;
  Control control_;
  std::vector<std::string> state_names_;
  std::unique_ptr<MemoryxRole> memoryx_;
  std::unique_ptr<checkpoint::ShardWriter> writer_;  // of the save under way
  std::unique_ptr<CsxRole> csx_;
  std::optional<Timeline> timeline_;
};

/// All ranks but 0: obeys orders until the run finishes.
void obey(Member& member);

/// Rank 0 ends the run with this message and code while all other ranks wait for an order, so that they can be told.
struct LeaderStop : Error {
  using Error::Error;
};

/// What rank 0 does by itself while all others wait for an order: where it fails, the run can end in good order.
template <class Body>
auto alone(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw LeaderStop(error.code(), error.what());
  }
}

/// Rank 0: one step or evaluation on all ranks; returns the reports in rank order. Throws LeaderStop where one of them reports an error.
std::vector<RankReport> order_pass(Member& member, const PassOrder& order);

}  // namespace wsc::train
