// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/csx/wave_rows.hpp"

#include <string>

#include "wsc/base/error.hpp"

namespace wsc::csx {

void WaveRows::reserve(std::int64_t rows) {
  if (rows <= capacity_) return;
  capacity_ = rows;
  const auto n = static_cast<std::size_t>(rows);
  const auto fresh = [](const std::string& name) { return Kokkos::view_alloc(Kokkos::WithoutInitializing, name); };
  ids_ = Buffer<std::int32_t>(fresh("wsc::csx::ids"), n);
  labels_ = Buffer<std::int32_t>(fresh("wsc::csx::labels"), n);
  token_ = Buffer<std::int32_t>(fresh("wsc::csx::token"), n);
  position_ = Buffer<std::int32_t>(fresh("wsc::csx::position"), n);
  span_ = Buffer<std::int32_t>(fresh("wsc::csx::span"), n);
  mask_ = Buffer<std::uint8_t>(fresh("wsc::csx::loss_mask"), n);
  sample_ = Buffer<std::int64_t>(fresh("wsc::csx::sample"), n);
  loss_ = Buffer<double>(fresh("wsc::csx::loss"), n);
}

void WaveRows::load(const data::Batch& batch, std::int64_t first, std::int64_t count, const std::vector<std::int64_t>& leaves,
                    const std::int32_t* places) {
  tokens_ = batch.T;
  count_ = count * tokens_;
  reserve(count_);
  has_spans_ = !batch.span.empty();
  leaves_.clear();
  std::int64_t row = 0;
  for (const std::int64_t samples : leaves) {
    leaves_.push_back({row, row + samples * tokens_});
    row += samples * tokens_;
  }
  WSC_ASSERT(row == count_);
  const std::int64_t begin = first * tokens_;
  for (std::int64_t r = 0; r < count_; ++r) {
    const std::int64_t from = begin + r, token = r % tokens_;
    ids_(r) = places ? places[batch.input_ids[from]] : batch.input_ids[from];
    labels_(r) = batch.labels[from];
    mask_(r) = batch.loss_mask[from];
    token_(r) = static_cast<std::int32_t>(token);
    position_(r) = batch.position.empty() ? static_cast<std::int32_t>(token) : batch.position[from];
    if (has_spans_) span_(r) = batch.span[from];
    sample_(r) = batch.global_index[from / tokens_];
  }
}

namespace {
template <class View>
auto part(const View& view, RowRange range) {
  using Value = std::add_const_t<typename View::value_type>;
  return Vector<Value>(view.data() + range.first, static_cast<std::size_t>(range.count()));
}
}  // namespace

kernels::Rows WaveRows::slice(RowRange range) const {
  kernels::Rows rows;
  rows.count = range.count();
  rows.tokens = tokens_;
  rows.ids = part(ids_, range);
  rows.labels = part(labels_, range);
  rows.loss_mask = part(mask_, range);
  rows.token = part(token_, range);
  rows.position = part(position_, range);
  if (has_spans_) rows.span = part(span_, range);
  rows.sample = part(sample_, range);
  return rows;
}

Vector<double> WaveRows::losses(RowRange range) const {
  return Vector<double>(loss_.data() + range.first, static_cast<std::size_t>(range.count()));
}

}  // namespace wsc::csx
