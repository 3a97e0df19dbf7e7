// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/plan/row_blocks.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"

namespace wsc::plan {
namespace {

constexpr std::int64_t least_saving_bytes = 1 << 20;

bool uses(const Op& op, WeightId weight) {
  const std::vector<WeightId> weights = op_weights(op);
  return std::find(weights.begin(), weights.end(), weight) != weights.end();
}

}  // namespace

bool reads_rows_only(const Graph& graph, StageId stage, WeightId table) {
  return std::all_of(graph[stage].ops.begin(), graph[stage].ops.end(),
                     [&](const Op& op) { return std::holds_alternative<Embedding>(op) || !uses(op, table); });
}

std::vector<RowBlock> row_blocks(const Graph& graph, std::int64_t batch_rows) {
  std::vector<RowBlock> blocks;
  for (std::size_t s = 0; s < graph.stages.size(); ++s)
    for (const Op& op : graph.stages[s].ops) {
      const auto* embedding = std::get_if<Embedding>(&op);
      if (!embedding || !reads_rows_only(graph, StageId(s), embedding->table)) continue;
      const Weight& table = graph[embedding->table];
      const bool known = std::any_of(blocks.begin(), blocks.end(), [&](const RowBlock& b) { return b.table == embedding->table; });
      const std::int64_t saved_bytes = (table.rows - batch_rows) * table.columns * static_cast<std::int64_t>(sizeof(float));
      if (known || graph[table.block].weights.size() != 1 || 2 * batch_rows >= table.rows || saved_bytes < least_saving_bytes) continue;
      blocks.push_back({BlockId(graph.blocks.size() + blocks.size()), embedding->table, table.rows, table.columns, batch_rows});
    }
  return blocks;
}

fabric::BlockSplit largest_split(const RowBlock& block, int shards) {
  const std::int64_t elements = block.largest_rows * block.columns;
  fabric::BlockSplit split{elements, std::vector<std::int64_t>(static_cast<std::size_t>(shards) + 1, elements)};
  split.bounds.front() = 0;
  return split;
}

fabric::StreamSchedule with_rows(fabric::StreamSchedule schedule, const Graph& graph, std::span<const RowBlock> blocks,
                                 std::span<const std::int64_t> rows) {
  for (const RowBlock& block : blocks) {
    WSC_EXPECT(static_cast<std::int64_t>(rows.size()) <= block.largest_rows);
    const std::vector<std::int64_t>& table_bounds = schedule.blocks[graph[block.table].block.index].bounds;
    fabric::BlockSplit& split = schedule.blocks[block.id.index];
    split.elements = static_cast<std::int64_t>(rows.size()) * block.columns;
    for (std::size_t m = 0; m + 1 < table_bounds.size(); ++m) {
      const auto first = std::lower_bound(rows.begin(), rows.end(), table_bounds[m] / block.columns);  // shards are cut between rows
      split.bounds[m] = (first - rows.begin()) * block.columns;
    }
    split.bounds.back() = split.elements;
  }
  return schedule;
}

std::string block_name(const Graph& graph, std::span<const RowBlock> blocks, BlockId id) {
  for (const RowBlock& block : blocks)
    if (block.id == id) return graph[graph[block.table].block].name + " (rows)";
  return graph[id].name;
}

}  // namespace wsc::plan
