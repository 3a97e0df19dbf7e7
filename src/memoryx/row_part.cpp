// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "row_part.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"
#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/loops.hpp"

namespace wsc::memoryx {

void RowPart::begin(const Shard::RowUse& use, BlockPart& table) {
  use_ = use;
  table_ = &table;
  taken_ = 0;
  rows_.clear();
  for (const std::int64_t row : use.rows) {
    const std::int64_t place = row * use.columns;
    WSC_EXPECT(table.begin() <= place && place + use.columns <= table.end());
    rows_.push_back((place - table.begin()) / use.columns);
  }
  if (elements() <= capacity_) return;
  capacity_ = elements();
  weights_ = ZeroMemory(weight_bytes());
  copies_.clear();  // they are zero between passes
}

void* RowPart::on_wire(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, std::int64_t begin,
                       std::int64_t end) {
  const std::int64_t columns = use_.columns, size = bytes_of(wire_), wanted = (end - use_.begin + columns - 1) / columns;
  WSC_EXPECT(use_.begin <= begin && begin <= end && end - use_.begin <= elements());
  if (wanted > taken_) {
    const std::span<const std::int64_t> fresh = std::span(rows_).subspan(taken_, wanted - taken_);
    table_->update_rows(exec, rule, decision, fresh, columns);
    const float* const from = table_->weight(table_->begin());
    std::byte* const to = weights_.data() + taken_ * columns * size;
    const Precision format = wire_;
    kernels::for_rows("wsc::memoryx::take_rows", exec, std::ssize(fresh), [=](std::int64_t r) {
      convert(columns, Precision::fp32, from + fresh[r] * columns, format, to + r * columns * size);
    });
    exec.fence("wsc::memoryx::take_rows");
    taken_ = wanted;
  }
  return weights_.data() + (begin - use_.begin) * size;
}

float* RowPart::gradient_copy(int i) {
  while (static_cast<int>(copies_.size()) <= i) copies_.emplace_back(capacity_);
  return copies_[static_cast<std::size_t>(i)].data();
}

void RowPart::add_to_table(const Exec& exec) {
  const std::int64_t columns = use_.columns;
  const std::span<const std::int64_t> rows(rows_);
  float* const sums = gradient_copy(0);
  float* const to = table_->gradient(table_->begin());
  kernels::for_rows("wsc::memoryx::add_rows", exec, std::ssize(rows), [=](std::int64_t r) {
    float* const from = sums + r * columns;
    float* const row = to + rows[r] * columns;
    for (std::int64_t c = 0; c < columns; ++c) {
      row[c] += from[c];
      from[c] = 0;
    }
  });
  exec.fence("wsc::memoryx::add_rows");
}

}  // namespace wsc::memoryx
