// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wsc/data/batch.hpp"
#include "wsc/memoryx/shard.hpp"
#include "wsc/train/control.hpp"
#include "wsc/train/plans.hpp"

namespace wsc::train {

/// One pass: its plan and stream, and where row blocks are in it (plan/row_blocks.hpp) the rows that the global batch uses.
class PassStream {
 public:
  /// All ranks, before every pass. `batch`: what this rank will compute on; null on a memoryx.
  PassStream(Control& control, const Graph& graph, const PlannedPass& pass, const data::Batch* batch);

  const fabric::StreamSchedule& schedule() const { return own_ ? *own_ : pass_.schedule; }
  const plan::Plan& plan() const { return pass_.plan; }
  /// For every row of the tables its place in the row blocks; null where the pass has none.
  const std::int32_t* places() const { return places_.empty() ? nullptr : places_.data(); }
  /// What this shard has of the row blocks.
  std::vector<memoryx::Shard::RowUse> uses(const Graph& graph, fabric::ShardId shard) const;

 private:
  const PlannedPass& pass_;
  std::optional<fabric::StreamSchedule> own_;
  std::vector<std::int64_t> rows_;  // ascending
  std::vector<std::int32_t> places_;
};

}  // namespace wsc::train
