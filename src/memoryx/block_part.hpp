// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "wsc/base/exact_sum.hpp"
#include "wsc/base/precision.hpp"
#include "wsc/graph/graph.hpp"
#include "wsc/memoryx/shard.hpp"
#include "wsc/optimizer/update_rule.hpp"

namespace wsc::memoryx {

/// Zeros, 64-byte aligned. Pages are not touched before their first use, so an evaluation pays for no gradients and states.
class ZeroMemory {
 public:
  ZeroMemory() = default;
  explicit ZeroMemory(std::int64_t bytes);
  std::byte* data() const { return data_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> memory_;
  std::byte* data_ = nullptr;
};

class ZeroArray {
 public:
  ZeroArray() = default;
  explicit ZeroArray(std::int64_t elements) : memory_(elements * static_cast<std::int64_t>(sizeof(float))) {}
  float* data() const { return reinterpret_cast<float*>(memory_.data()); }

 private:
  ZeroMemory memory_;
};

/// Elements [begin, end) of a block, as one shard owns them: weights, gradient sums, states. Positions count elements of the block.
class BlockPart {
 public:
  /// Elements [begin, end) of the block: what this part owns of a parameter. Never empty.
  struct Piece {
    ParamId param;
    std::int64_t begin, end;
    std::int64_t first;  ///< index within the parameter of element `begin`
  };

  /// `wire`: how its weights travel.
  BlockPart(const Graph& graph, BlockId block, std::int64_t begin, std::int64_t end, std::size_t states, Precision wire);

  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  const std::vector<Piece>& pieces() const { return pieces_; }  ///< in the order of their places
  float* weight(std::int64_t position) const { return weight_.data() + (position - begin_); }
  float* gradient(std::int64_t position) const { return gradient_.data() + (position - begin_); }
  /// Copy i ≥ 1 of the gradient sum, zero at first.
  float* gradient_copy(int i);
  std::int64_t gradient_copies() const { return 1 + static_cast<std::int64_t>(copies_.size()); }
  float* state(std::size_t i, std::int64_t position) const { return states_[i].data() + (position - begin_); }

  void initialise(const Exec& exec, std::uint64_t seed);

  /// The weight at `begin` as it travels, followed by those up to `end`: the weights themselves, or a copy of them in the wire's format,
  /// which is made once after they changed. In order: from the part's first weight that changed on.
  void* on_wire(const Exec& exec, std::int64_t begin, std::int64_t end);
  /// Somebody else may have changed the weights.
  void outdate_wire() { wired_ = begin_; }
  std::int64_t wire_bytes() const { return wire_ == Precision::fp32 ? 0 : (end_ - begin_) * bytes_of(wire_); }  ///< of the copy

  /// Makes this decision pending for the whole part. Nothing may be pending.
  void decide();
  /// Tells the reader from now on, or nobody any more (null): see StateReader. The state it reads is the one after what is pending now; a
  /// part of which some is updated already is brought up to date at once.
  void let_read(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, StateReader* reader);
  /// Carries out what is pending up to `end`.
  void update(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, std::int64_t end);
  /// Carries out what is pending for these rows of `columns` elements, counted from the part's first one, ahead of those before them.
  void update_rows(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, std::span<const std::int64_t> rows,
                   std::int64_t columns);

  /// Σ g², a double per row of a matrix and per element of a vector, added exactly; without the rows `left_out` (ascending). `row_sums` is
  /// scratch. Sets `bad` to the first parameter with a gradient that is not finite, if there is one.
  ExactSum squared_norm(const Exec& exec, std::vector<double>& row_sums, ParamId& bad, std::span<const std::int64_t> left_out = {}) const;
  /// The same of these rows only.
  ExactSum squared_norm_of(const Exec& exec, std::vector<double>& row_sums, ParamId& bad, std::span<const std::int64_t> rows) const;

 private:
  /// Rows of one length, one after the other.
  struct RowRange {
    std::int64_t first_row, rows, columns;  ///< first_row counts over the whole part
    std::int64_t begin;                     ///< element of the block
  };
  /// Elements side by side that are updated alike.
  struct Run {
    std::int64_t begin, end;
    bool decays;
  };

  /// Calls f(begin, end) for the runs of elements before `end` whose update is pending.
  template <class F>
  void for_pending(std::int64_t end, F f) const;
  /// Updates [begin, end), without a fence.
  void apply(const Exec& exec, const optimizer::UpdateRule& rule, const UpdateDecision& decision, std::int64_t begin, std::int64_t end);
  bool is_early(std::int64_t position) const { return early_rows_[static_cast<std::size_t>((position - begin_) / early_columns_)]; }
  std::int64_t row_end(std::int64_t position) const { return position + early_columns_ - (position - begin_) % early_columns_; }
  /// Tells the reader that [begin, end) has been updated.
  void reached(std::int64_t begin, std::int64_t end) const;
  /// Calls f(parameter, begin, end) for what [begin, end) is of parameters, in elements of each.
  template <class F>
  void for_parameters(std::int64_t begin, std::int64_t end, F f) const;
  double row_sum(std::int64_t row) const;
  /// Adds the sum of a row to `total`; notes whose it is where it is not finite.
  void count_row(std::int64_t row, double sum, ExactSum& total, ParamId& bad) const;
  std::size_t range_of(std::int64_t row) const;

  const Graph* graph_;
  std::int64_t begin_, end_;
  std::int64_t updated_;  ///< an update is pending for [updated_, end_), but for the early rows
  std::vector<bool> early_rows_;
  std::int64_t early_columns_ = 0;  ///< of each of them; 0 = there is none
  StateReader* reader_ = nullptr;
  bool state_changes_ = false;  ///< what the reader reads is complete: the next update changes it
  std::vector<Piece> pieces_;
  std::vector<RowRange> row_ranges_;  ///< one per piece
  std::vector<Run> runs_;
  Precision wire_;
  std::int64_t wired_;  ///< the copy for the wire is right up to here
  ZeroArray weight_, gradient_;
  ZeroMemory wire_copy_;           ///< none where weights travel as they are
  std::vector<ZeroArray> copies_;  ///< of the gradient sum, beside the sum itself
  std::vector<ZeroArray> states_;
};

}  // namespace wsc::memoryx
