// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/memoryx/shard.hpp"

#include <algorithm>

#include "row_part.hpp"

#include "wsc/base/clock.hpp"
#include "wsc/base/error.hpp"
#include "wsc/base/trace.hpp"

namespace wsc::memoryx {

struct Shard::Impl {
  const Graph& graph;
  optimizer::UpdateRule rule;
  Precision wire;
  std::vector<std::string> state_names;
  std::vector<BlockPart> parts;  // one per block
  std::vector<RowPart> rows;     // one per row block
  UpdateDecision decision;       // what is pending, where something is
  Exec exec;

  std::vector<ExactSum> squared_norms;  // of the gradients that this pass completed, one per block
  std::vector<ParamId> bad;             // their first parameters that were not finite, one per block
  bool norm_taken = false;              // the next gradient opens a new pass
  std::vector<double> row_sums;         // scratch
  double optimizer_s = 0;               // since it was last taken

  BlockPart& part(BlockId block) { return parts.at(block.index); }
  bool is_rows(BlockId block) const { return block.index >= static_cast<int>(parts.size()); }
  RowPart& row_part(BlockId block) { return rows.at(static_cast<std::size_t>(block.index) - parts.size()); }
  /// Rows of the table whose gradient is complete only with that of a row block.
  std::span<const std::int64_t> rows_to_come(BlockId table) const {
    for (const RowPart& r : rows)
      if (r.active() && r.table_block() == table) return r.rows();
    return {};
  }
  /// In the timeline: row blocks have the name of their table.
  const char* name(BlockId block) { return graph[is_rows(block) ? row_part(block).table_block() : block].name.c_str(); }
  void update(BlockPart& part, std::int64_t end) { part.update(exec, rule, decision, end); }
};

Shard::Shard(const Graph& graph, const std::vector<fabric::BlockSplit>& blocks, fabric::ShardId id, const OptimizerSettings& optimizer,
             Precision wire) {
  WSC_EXPECT(blocks.size() == graph.blocks.size());
  const optimizer::UpdateRule rule = optimizer::update_rule(optimizer);
  impl_.reset(new Impl{.graph = graph,
                       .rule = rule,
                       .wire = wire,
                       .state_names = optimizer::state_names(rule),
                       .parts = {},
                       .rows = {},
                       .decision = {},
                       .exec = Exec(),
                       .squared_norms = std::vector<ExactSum>(blocks.size()),
                       .bad = std::vector<ParamId>(blocks.size()),
                       .row_sums = {}});
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::vector<std::int64_t>& bounds = blocks[b].bounds;
    WSC_EXPECT(blocks[b].elements == graph.blocks[b].elements);
    impl_->parts.emplace_back(graph, BlockId(b), bounds.at(id.index), bounds.at(id.index + 1), impl_->state_names.size(), wire);
  }
}

Shard::~Shard() = default;

void Shard::initialise(std::uint64_t seed) {
  for (BlockPart& part : impl_->parts) part.initialise(impl_->exec, seed);
}

void Shard::use_rows(const std::vector<RowUse>& uses) {
  for (RowPart& rows : impl_->rows) rows.end();
  for (const RowUse& use : uses) {
    const auto at = static_cast<std::size_t>(use.block.index) - impl_->parts.size();
    while (impl_->rows.size() <= at) impl_->rows.emplace_back(impl_->wire);
    impl_->rows[at].begin(use, impl_->part(use.table));
  }
}

void* Shard::on_send(BlockId block, std::int64_t begin, std::int64_t end) {
  const Timed timed(impl_->optimizer_s);
  const trace::Span span("update", impl_->name(block));
  if (impl_->is_rows(block)) return impl_->row_part(block).on_wire(impl_->exec, impl_->rule, impl_->decision, begin, end);
  BlockPart& part = impl_->part(block);
  WSC_EXPECT(part.begin() <= begin && begin <= end && end <= part.end());
  impl_->update(part, end);
  return part.on_wire(impl_->exec, begin, end);
}

float* Shard::gradient(BlockId block, int copy) {
  const Timed timed(impl_->optimizer_s);
  const bool rows = impl_->is_rows(block);
  BlockPart& part = rows ? impl_->row_part(block).table() : impl_->part(block);
  impl_->update(part, part.end());  // sums of the next step must not be added to those that wait for their update
  if (rows) return impl_->row_part(block).gradient_copy(copy);
  return copy == 0 ? part.gradient(part.begin()) : part.gradient_copy(copy);
}

void Shard::on_gradient(BlockId block, bool last) {
  if (!last) return;
  const Timed timed(impl_->optimizer_s);
  const trace::Span span("norm", impl_->name(block));
  if (impl_->norm_taken) {
    std::fill(impl_->bad.begin(), impl_->bad.end(), ParamId());
    impl_->norm_taken = false;
  }
  if (impl_->is_rows(block)) {  // the table's own gradient, if it has one, came before
    RowPart& rows = impl_->row_part(block);
    rows.add_to_table(impl_->exec);
    const BlockId table = rows.table_block();
    impl_->squared_norms.at(table.index)
        .add(rows.table().squared_norm_of(impl_->exec, impl_->row_sums, impl_->bad.at(table.index), rows.rows()));
  } else {
    impl_->squared_norms.at(block.index) =
        impl_->part(block).squared_norm(impl_->exec, impl_->row_sums, impl_->bad.at(block.index) = ParamId(), impl_->rows_to_come(block));
  }
}

ExactSum Shard::take_squared_norm() {
  ExactSum total;
  for (ExactSum& norm : impl_->squared_norms) {
    total.add(norm);
    norm = {};
  }
  impl_->norm_taken = true;
  return total;
}

double Shard::take_optimizer_s() { return std::exchange(impl_->optimizer_s, 0); }

std::string Shard::non_finite_parameter() const {
  ParamId first;
  for (const ParamId id : impl_->bad)
    if (id.valid() && (!first.valid() || id < first)) first = id;
  return first.valid() ? impl_->graph[first].name : "";
}

void Shard::decide(const UpdateDecision& decision) {
  WSC_EXPECT(decision.skip || decision.optimizer_step >= 1);
  apply_pending();
  impl_->decision = decision;
  for (BlockPart& part : impl_->parts) part.decide();
}

void Shard::apply_pending() {
  const Timed timed(impl_->optimizer_s);
  const trace::Span span("update of all that is pending");
  for (BlockPart& part : impl_->parts) impl_->update(part, part.end());
}

void Shard::let_read(StateReader* reader) {
  for (BlockPart& part : impl_->parts) part.let_read(impl_->exec, impl_->rule, impl_->decision, reader);
}

const std::vector<std::string>& Shard::state_names() const { return impl_->state_names; }

std::vector<Shard::Piece> Shard::pieces() {
  apply_pending();
  for (BlockPart& part : impl_->parts) part.outdate_wire();  // a checkpoint may be read into them
  return places();
}

std::vector<Shard::Piece> Shard::places() const {
  std::vector<Piece> out;
  for (const BlockPart& part : impl_->parts)
    for (const BlockPart::Piece& p : part.pieces()) {
      const std::int64_t n = p.end - p.begin;
      Piece piece{p.param, p.first, p.first + n, {part.weight(p.begin), static_cast<std::size_t>(n)}, {}};
      for (std::size_t i = 0; i < impl_->state_names.size(); ++i) piece.states.emplace_back(part.state(i, p.begin), n);
      out.push_back(std::move(piece));
    }
  std::sort(out.begin(), out.end(), [](const Piece& a, const Piece& b) { return a.param < b.param; });
  return out;
}

Shard::Bytes Shard::bytes() const {
  constexpr std::int64_t size = sizeof(float);
  std::int64_t elements = 0, gradients = 0, copies = 0;
  for (const BlockPart& part : impl_->parts) {
    elements += part.end() - part.begin();
    copies += part.wire_bytes();
    gradients += (part.end() - part.begin()) * part.gradient_copies();
  }
  const std::int64_t states = size * elements * static_cast<std::int64_t>(impl_->state_names.size());
  for (const RowPart& rows : impl_->rows) {
    copies += rows.weight_bytes();
    gradients += rows.gradient_elements();
  }
  return {size * elements + copies, size * gradients, states};
}

}  // namespace wsc::memoryx
