// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "wsc/base/error.hpp"
#include "wsc/csx/csx.hpp"
#include "wsc/data/batch_reader.hpp"
#include "wsc/fabric/streams.hpp"
#include "wsc/memoryx/shard.hpp"
#include "wsc/train/pass.hpp"
#include "wsc/train/pass_rows.hpp"
#include "wsc/train/plans.hpp"

namespace wsc::train {

/// A memoryx rank: owns a shard and serves it to the stream.
class MemoryxRole {
 public:
  /// `graph` and `plans` must outlive the role. `channel` is null on the null fabric, where the csx calls the shard itself.
  MemoryxRole(const Graph& graph, const std::vector<fabric::BlockSplit>& blocks, const OptimizerSettings& optimizer, Precision wire,
              fabric::Channel* channel, fabric::ShardId id);

  memoryx::Shard& shard() { return shard_; }
  /// Takes the decision about the last step's gradients.
  void decide(const PassOrder& order);
  /// Serves a training or evaluation pass.
  void serve(const PassStream& stream);
  void report(RankReport& report);

 private:
  const Graph& graph_;
  fabric::Channel* channel_;
  fabric::ShardId id_;
  memoryx::Shard shard_;
};

/// The data that a csx reads.
struct CsxData {
  const data::Dataset* train = nullptr;
  const data::Dataset* evaluate = nullptr;
};

/// A csx rank: reads its samples and executes plans.
class CsxRole {
 public:
  CsxRole(const Graph& graph, const Settings& settings, const Plans& plans, int csx, std::unique_ptr<fabric::CsxStreams> streams,
          CsxData data);

  /// Begins reading training batches at a global step whose first sample is at `position` of the sampler's order.
  void start_reading(std::int64_t step, std::int64_t position);
  /// The batch of the pass that comes: read before the others are told which rows it uses.
  const data::Batch& read(const PassOrder& order);
  /// The pass itself, on the batch that was read.
  void run(const PassOrder& order, const PassStream& stream);
  void report(RankReport& report) const;
  csx::Csx& machine() { return csx_; }

 private:
  std::optional<data::BatchPart> part_of_step(std::int64_t step);
  void start_evaluation(std::int64_t batch);
  data::Batch next(data::BatchReader& reader, std::int64_t number);

  const Settings& settings_;
  const Plans& plans_;
  int index_;
  csx::Csx csx_;
  std::unique_ptr<fabric::CsxStreams> streams_;
  CsxData data_;
  std::int64_t next_position_ = 0;  // of the reader thread
  std::optional<data::BatchReader> train_reader_, eval_reader_;
  data::Batch batch_;
  csx::LossSum losses_;
  double data_s_ = 0;             // of this pass
  std::optional<Error> failure_;  // of reading: the pass goes on without samples, its report says why
};

}  // namespace wsc::train
