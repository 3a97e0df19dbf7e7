// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/pass_rows.hpp"

#include <algorithm>
#include <bit>

#include "wsc/base/error.hpp"

namespace wsc::train {
namespace {

using Word = std::uint64_t;
constexpr std::int64_t word_bits = 64;

/// A bit for each row of a table, set for those that the batch uses.
std::vector<Word> used_rows(const data::Batch* batch, std::int64_t table_rows) {
  std::vector<Word> bits(static_cast<std::size_t>((table_rows + word_bits - 1) / word_bits), 0);
  if (!batch) return bits;
  for (const std::int32_t id : batch->input_ids) {
    WSC_EXPECT(id >= 0 && id < table_rows);
    bits[static_cast<std::size_t>(id / word_bits)] |= Word{1} << (id % word_bits);
  }
  return bits;
}

}  // namespace

PassStream::PassStream(Control& control, const Graph& graph, const PlannedPass& pass, const data::Batch* batch) : pass_(pass) {
  const std::vector<plan::RowBlock>& blocks = pass.plan.row_blocks;
  if (blocks.empty()) return;
  std::int64_t table_rows = 0;  // the same ids choose from all tables
  for (const plan::RowBlock& b : blocks) table_rows = std::max(table_rows, b.rows);
  std::vector<Word> bits = used_rows(batch, table_rows);
  control.unite(bits);
  places_.assign(static_cast<std::size_t>(table_rows), -1);
  for (std::size_t w = 0; w < bits.size(); ++w)
    for (Word left = bits[w]; left != 0; left &= left - 1) {
      const std::int64_t row = static_cast<std::int64_t>(w) * word_bits + std::countr_zero(left);
      places_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(rows_.size());
      rows_.push_back(row);
    }
  own_ = plan::with_rows(pass.schedule, graph, blocks, rows_);
}

std::vector<memoryx::Shard::RowUse> PassStream::uses(const Graph& graph, fabric::ShardId shard) const {
  std::vector<memoryx::Shard::RowUse> all;
  for (const plan::RowBlock& b : pass_.plan.row_blocks) {
    const std::vector<std::int64_t>& bounds = own_->blocks[b.id.index].bounds;
    const std::int64_t begin = bounds[shard.index], end = bounds[shard.index + 1];
    all.push_back({b.id, graph[b.table].block, b.columns, begin, {rows_.begin() + begin / b.columns, rows_.begin() + end / b.columns}});
  }
  return all;
}

}  // namespace wsc::train
