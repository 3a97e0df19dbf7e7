// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "block_part.hpp"

#include <algorithm>
#include <cmath>

#include "wsc/base/error.hpp"
#include "wsc/base/random.hpp"
#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/loops.hpp"

namespace wsc::memoryx {

static_assert(Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible, "shards live in host memory, and kernels update them there");

ZeroMemory::ZeroMemory(std::int64_t bytes) {
  if (bytes == 0) return;
  constexpr std::size_t alignment = 64;
  memory_.reset(std::calloc(static_cast<std::size_t>(bytes) + alignment, 1));
  if (!memory_)
    throw SystemError("memoryx: no memory for another " + std::to_string(bytes) +
                      " bytes of weights and optimizer state. Use more memoryx ranks (cluster.memoryx) on more nodes.");
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  data_ = reinterpret_cast<std::byte*>((address + alignment - 1) / alignment * alignment);
}

BlockPart::BlockPart(const Graph& graph, BlockId block, std::int64_t begin, std::int64_t end, std::size_t states, Precision wire)
    : graph_(&graph),
      begin_(begin),
      end_(end),
      updated_(end),
      wire_(wire),
      wired_(begin),
      weight_(end - begin),
      gradient_(end - begin),
      wire_copy_(wire_bytes()) {
  for (std::size_t i = 0; i < states; ++i) states_.emplace_back(end - begin);
  std::int64_t rows = 0;
  for (const WeightId w : graph[block].weights)
    for (const ParamId id : graph[w].params) {
      const Param& param = graph[id];
      const std::int64_t offset = graph.offset(id);
      const Piece piece{id, std::max(begin, offset), std::min(end, offset + param.elements()), std::max(begin, offset) - offset};
      if (piece.begin >= piece.end) continue;
      const std::int64_t elements = piece.end - piece.begin, columns = param.columns;
      WSC_EXPECT(piece.first % columns == 0 && elements % columns == 0);  // cut between rows
      pieces_.push_back(piece);
      row_ranges_.push_back({rows, elements / columns, columns, piece.begin});
      rows += elements / columns;
      if (!runs_.empty() && runs_.back().end == piece.begin && runs_.back().decays == param.decays)
        runs_.back().end = piece.end;
      else
        runs_.push_back({piece.begin, piece.end, param.decays});
    }
}

float* BlockPart::gradient_copy(int i) {
  while (gradient_copies() <= i) copies_.emplace_back(end_ - begin_);
  return copies_[static_cast<std::size_t>(i - 1)].data();
}

void BlockPart::initialise(const Exec& exec, std::uint64_t seed) {
  WSC_EXPECT(updated_ == end_);
  outdate_wire();
  for (const Piece& piece : pieces_) {
    const Param& param = (*graph_)[piece.param];
    const std::int64_t elements = piece.end - piece.begin;
    float* const out = weight(piece.begin);
    if (param.init.kind != Init::Kind::truncated_normal) {
      kernels::fill(exec, Vector<float>(out, elements), param.init.kind == Init::Kind::ones ? 1.0f : 0.0f);
      continue;
    }
    const RandomKey key(seed, "init", param.name, 0);
    const double standard_deviation = param.init.standard_deviation;
    const std::int64_t first = piece.first;
    kernels::for_chunks("wsc::memoryx::initialise", exec, elements, [=](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) out[i] = static_cast<float>(standard_deviation * key.truncated_normal(0, first + i));
    });
  }
  exec.fence("wsc::memoryx::initialise");
}

void* BlockPart::on_wire(const Exec& exec, std::int64_t begin, std::int64_t end) {
  if (wire_ == Precision::fp32) return weight(begin);
  const std::int64_t size = bytes_of(wire_);
  std::byte* const copy = wire_copy_.data();
  if (end > wired_) {
    const float* const from = weight(wired_);
    std::byte* const to = copy + (wired_ - begin_) * size;
    const Precision format = wire_;
    kernels::for_chunks("wsc::memoryx::wire_copy", exec, end - wired_, [=](std::int64_t first, std::int64_t last) {
      convert(last - first, Precision::fp32, from + first, format, to + first * size);
    });
    exec.fence("wsc::memoryx::wire_copy");
    wired_ = end;
  }
  return copy + (begin - begin_) * size;
}

void BlockPart::decide() {
  updated_ = begin_;
  early_columns_ = 0;
  state_changes_ = true;
}

template <class F>
void BlockPart::for_pending(std::int64_t end, F f) const {
  if (early_columns_ == 0) {
    if (updated_ < end) f(updated_, end);
    return;
  }
  for (std::int64_t from = updated_; from < end;) {
    std::int64_t to = from;
    const bool done = is_early(from);
    while (to < end && is_early(to) == done) to = row_end(to);
    to = std::min(to, end);
    if (!done) f(from, to);
    from = to;
  }
}

template <class F>
void BlockPart::for_parameters(std::int64_t begin, std::int64_t end, F f) const {
  for (const Piece& p : pieces_) {
    const std::int64_t from = std::max(begin, p.begin), to = std::min(end, p.end);
    if (from < to) f(p.param, p.first + from - p.begin, p.first + to - p.begin);
  }
}

void BlockPart::let_read(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, StateReader* reader) {
  reader_ = nullptr;
  const bool untouched = updated_ == begin_ && early_columns_ == 0;
  if (reader && !untouched) update(exec, rule, decision, end_);
  reader_ = reader;
  state_changes_ = false;
  if (!untouched) reached(begin_, end_);
}

void BlockPart::reached(std::int64_t begin, std::int64_t end) const {
  if (!reader_ || state_changes_) return;
  for_parameters(begin, end, [this](ParamId param, std::int64_t from, std::int64_t to) { reader_->readable(param, from, to); });
}

void BlockPart::apply(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, std::int64_t begin,
                      std::int64_t end) {
  if (reader_ && state_changes_)
    for_parameters(begin, end, [this](ParamId param, std::int64_t from, std::int64_t to) { reader_->release(param, from, to); });
  if (decision.skip) {
    kernels::fill(exec, Vector<float>(gradient(begin), end - begin), 0.0f);
    return;
  }
  wired_ = std::min(wired_, begin);
  std::vector<float*> states(states_.size());
  for (const Run& run : runs_) {
    const std::int64_t from = std::max(run.begin, begin), to = std::min(run.end, end);
    if (from >= to) continue;
    for (std::size_t i = 0; i < states.size(); ++i) states[i] = state(i, from);
    const optimizer::UpdateParams params{.learning_rate = decision.learning_rate,
                                         .gradient_factor = decision.gradient_factor,
                                         .clip_value = decision.clip_value,
                                         .step = decision.optimizer_step,
                                         .decays = run.decays};
    optimizer::apply(exec, rule, params, to - from, weight(from), gradient(from), states);
  }
}

void BlockPart::update(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, std::int64_t end) {
  if (end <= updated_) return;
  for_pending(end, [&](std::int64_t from, std::int64_t to) { apply(exec, rule, decision, from, to); });
  exec.fence("wsc::memoryx::update");  // the caller hands the weights to the fabric
  for_pending(end, [&](std::int64_t from, std::int64_t to) { reached(from, to); });
  updated_ = end;
}

void BlockPart::update_rows(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision,
                            std::span<const std::int64_t> rows, std::int64_t columns) {
  if (updated_ == end_) return;
  if (early_columns_ == 0) early_rows_.assign(static_cast<std::size_t>((end_ - begin_ + columns - 1) / columns), false);
  early_columns_ = columns;
  const auto for_fresh = [&](auto f) {
    for (const std::int64_t row : rows) {
      const std::int64_t from = std::max(updated_, begin_ + row * columns), to = begin_ + (row + 1) * columns;
      if (!early_rows_[static_cast<std::size_t>(row)] && from < to) f(row, from, to);
    }
  };
  for_fresh([&](std::int64_t, std::int64_t from, std::int64_t to) { apply(exec, rule, decision, from, to); });
  exec.fence("wsc::memoryx::update");
  for_fresh([&](std::int64_t row, std::int64_t from, std::int64_t to) {
    reached(from, to);
    early_rows_[static_cast<std::size_t>(row)] = true;
  });
}

std::size_t BlockPart::range_of(std::int64_t row) const {
  std::size_t i = 0;  // a block has a dozen pieces at most
  while (row >= row_ranges_[i].first_row + row_ranges_[i].rows) ++i;
  return i;
}

double BlockPart::row_sum(std::int64_t row) const {
  const RowRange& r = row_ranges_[range_of(row)];
  const float* const g = gradient(r.begin + (row - r.first_row) * r.columns);
  return kernels::sum_of<double>(r.columns, [g](std::int64_t c) { return double{g[c]} * double{g[c]}; });
}

void BlockPart::count_row(std::int64_t row, double sum, ExactSum& total, ParamId& bad) const {
  total.add(sum);
  // The square of a float never overflows a double: the sum is not finite if and only if a gradient is not.
  if (!std::isfinite(sum) && !bad.valid()) bad = pieces_[range_of(row)].param;
}

ExactSum BlockPart::squared_norm(const Exec& exec, std::vector<double>& row_sums, ParamId& bad,
                                 std::span<const std::int64_t> left_out) const {
  if (pieces_.empty()) return {};
  const std::int64_t rows = row_ranges_.back().first_row + row_ranges_.back().rows;
  if (static_cast<std::int64_t>(row_sums.size()) < rows) row_sums.resize(rows);
  double* const sums = row_sums.data();
  kernels::for_rows("wsc::memoryx::squared_norm", exec, rows, [=, this](std::int64_t row) { sums[row] = row_sum(row); });
  exec.fence("wsc::memoryx::squared_norm");
  ExactSum total;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!left_out.empty() && row == left_out.front())
      left_out = left_out.subspan(1);
    else
      count_row(row, sums[row], total, bad);
  }
  return total;
}

ExactSum BlockPart::squared_norm_of(const Exec& exec, std::vector<double>& row_sums, ParamId& bad,
                                    std::span<const std::int64_t> rows) const {
  if (row_sums.size() < rows.size()) row_sums.resize(rows.size());
  double* const sums = row_sums.data();
  kernels::for_rows("wsc::memoryx::squared_norm", exec, std::ssize(rows), [=, this](std::int64_t i) { sums[i] = row_sum(rows[i]); });
  exec.fence("wsc::memoryx::squared_norm");
  ExactSum total;
  for (std::size_t i = 0; i < rows.size(); ++i) count_row(rows[i], sums[i], total, bad);
  return total;
}

}  // namespace wsc::memoryx
