// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wsc/fabric/schedule.hpp"
#include "wsc/graph/graph.hpp"

namespace wsc::plan {

/// A block that a pass makes: those rows of an embedding's table that the global batch uses, in the order of their numbers, without gaps.
/// It travels instead of the table to and from stages that only look rows up. A tied head has the whole table all the same.
struct RowBlock {
  BlockId id;                     ///< after those of the graph
  WeightId table;                 ///< (V, C), alone in its block
  std::int64_t rows = 0;          ///< V
  std::int64_t columns = 0;       ///< C
  std::int64_t largest_rows = 0;  ///< of the row block: a batch has so many tokens
};

/// Tables that are worth it, for batches of B · T = `batch_rows` tokens: less than half of their rows can be used, and a megabyte at least
/// stays where it is, which pays for the agreement on the rows.
std::vector<RowBlock> row_blocks(const Graph& graph, std::int64_t batch_rows);

/// The stage does nothing with this table but look rows up.
bool reads_rows_only(const Graph& graph, StageId stage, WeightId table);

/// Its split before the rows are known: as large as it can become, all of it on one shard.
fabric::BlockSplit largest_split(const RowBlock& block, int shards);

/// The schedule for a pass that uses these rows (ascending) of the tables: sizes of the row blocks, and their parts on the shards.
fabric::StreamSchedule with_rows(fabric::StreamSchedule schedule, const Graph& graph, std::span<const RowBlock> blocks,
                                 std::span<const std::int64_t> rows);

/// The block's name, "(rows)" added for a row block.
std::string block_name(const Graph& graph, std::span<const RowBlock> blocks, BlockId id);

}  // namespace wsc::plan
