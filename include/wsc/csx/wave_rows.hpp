// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "wsc/base/view.hpp"
#include "wsc/data/batch.hpp"
#include "wsc/kernels/op_context.hpp"

namespace wsc::csx {

/// A range of rows of a wave.
struct RowRange {
  std::int64_t first = 0, last = 0;
  std::int64_t count() const { return last - first; }
};

/// What the rows of a wave on one csx are: ids, labels, masks, positions, and the loss of each row.
class WaveRows {
 public:
  /// Memory for waves of up to `rows` rows.
  void reserve(std::int64_t rows);
  /// Takes samples [first, first + count) of the batch; `leaves`: samples of each leaf, in order (their sum is count). With `places`, ids
  /// become what they have for them: rows of a row block instead of rows of the table.
  void load(const data::Batch& batch, std::int64_t first, std::int64_t count, const std::vector<std::int64_t>& leaves,
            const std::int32_t* places = nullptr);

  std::int64_t count() const { return count_; }
  std::int64_t tokens() const { return tokens_; }
  /// The leaves' rows: tiles never cross them.
  const std::vector<RowRange>& leaves() const { return leaves_; }
  kernels::Rows slice(RowRange range) const;
  Vector<double> losses(RowRange range) const;
  Vector<const std::uint8_t> loss_mask() const { return mask_; }

 private:
  std::int64_t count_ = 0, tokens_ = 0, capacity_ = 0;
  bool has_spans_ = false;
  std::vector<RowRange> leaves_;
  Buffer<std::int32_t> ids_, labels_, token_, position_, span_;
  Buffer<std::uint8_t> mask_;
  Buffer<std::int64_t> sample_;
  Buffer<double> loss_;
};

}  // namespace wsc::csx
