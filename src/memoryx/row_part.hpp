// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block_part.hpp"

namespace wsc::memoryx {

/// What a shard holds of a row block (plan/row_blocks.hpp) in one pass: weights and gradient sums of some rows of a table, side by side.
/// Positions count elements of the row block.
class RowPart {
 public:
  explicit RowPart(Precision wire) : wire_(wire) {}

  /// A pass begins. `table` is the shard's part of the table.
  void begin(const Shard::RowUse& use, BlockPart& table);
  /// No pass uses it until the next begin().
  void end() { table_ = nullptr; }

  bool active() const { return table_ != nullptr; }
  BlockId table_block() const { return use_.table; }
  BlockPart& table() const { return *table_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }  ///< counted from the first one of the table's part
  /// The weights of elements [begin, end) as they travel; taken from the table, which is updated first. In order.
  void* on_wire(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, std::int64_t begin, std::int64_t end);
  /// Copy i of the gradient sum.
  float* gradient_copy(int i);
  /// Adds the gradient sum to that of the table, and zeroes it.
  void add_to_table(const Exec& exec);

  std::int64_t weight_bytes() const { return capacity_ * bytes_of(wire_); }
  std::int64_t gradient_elements() const { return capacity_ * static_cast<std::int64_t>(copies_.size()); }

 private:
  std::int64_t elements() const { return static_cast<std::int64_t>(rows_.size()) * use_.columns; }

  Precision wire_;
  Shard::RowUse use_;
  BlockPart* table_ = nullptr;
  std::vector<std::int64_t> rows_;
  std::int64_t taken_ = 0;     // rows whose weights have been copied in this pass
  std::int64_t capacity_ = 0;  // elements of each of the arrays
  ZeroMemory weights_;
  std::vector<ZeroArray> copies_;
};

}  // namespace wsc::memoryx
