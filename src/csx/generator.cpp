// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/csx/generator.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"
#include "wsc/kernels/gemm.hpp"
#include "wsc/kernels/ops.hpp"
#include "wsc/plan/arena.hpp"

namespace wsc::csx {
namespace {

template <class Real>
Buffer<Real> buffer(std::int64_t elements) {
  return Buffer<Real>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "wsc::csx::generator"), static_cast<std::size_t>(elements));
}

/// body(op) on every op in forward order.
template <class Body>
void for_each_op(const Graph& graph, const Body& body) {
  for (const Stage& stage : graph.stages)
    for (const Op& op : stage.ops) body(op);
}

/// Elements of the keys and values of all attention ops.
std::int64_t cache_elements(const Graph& graph, std::int64_t context) {
  std::int64_t elements = 0;
  for_each_op(graph, [&](const Op& op) {
    if (const auto* attention = std::get_if<Attention>(&op)) elements += 2 * context * attention->width;
  });
  return elements;
}

/// Position ids beyond the table would read other weights.
bool positions_fit(const Graph& graph, std::int64_t context) {
  bool fit = true;
  for_each_op(graph, [&](const Op& op) {
    if (const auto* positions = std::get_if<Positions>(&op); positions && positions->table.valid())
      fit = fit && context <= graph[positions->table].rows;
  });
  return fit;
}

}  // namespace

/// What the ops see of the new rows. There is no backward pass.
class Generator::Rows : public kernels::OpContext<float> {
 public:
  Rows(const Generator& g, std::int64_t count) : g_(g) {
    training = false;
    rows_.count = rows_.tokens = count;
    rows_.ids = TokenIds(g.ids_.data(), static_cast<std::size_t>(count));
    rows_.token = rows_.position = TokenIds(g.positions_.data(), static_cast<std::size_t>(count));
    rows_.sample = Vector<const std::int64_t>(g.samples_.data(), static_cast<std::size_t>(count));
  }

  const Exec& exec() const override { return exec_; }
  const kernels::Rows& rows() const override { return rows_; }
  Matrix<float> value(TensorId t) override {
    WSC_ASSERT(g_.places_[t.index] >= 0);
    return Matrix<float>(g_.arena_.data() + g_.places_[t.index], static_cast<std::size_t>(rows_.count),
                         static_cast<std::size_t>(g_.graph_[t].width));
  }
  Matrix<float> statistic(TensorId t) override { return value(t); }
  Matrix<const float> weight(WeightId w) override { return g_.weights_.weight(w); }
  Vector<float> workspace() override { return Vector<float>(g_.workspace_.data(), g_.workspace_.size()); }

  Matrix<const float> gradient(TensorId) override { no_backward(); }
  kernels::GradientOut<float> gradient_out(TensorId) override { no_backward(); }
  Matrix<float> weight_gradient(WeightId) override { no_backward(); }
  Vector<double> row_loss() override { no_backward(); }

 private:
  [[noreturn]] static void no_backward() {
    contract_violated("assertion", "generation has neither gradients nor losses", std::source_location::current());
  }

  const Generator& g_;
  Exec exec_;
  kernels::Rows rows_;
};

Generator::Generator(const Graph& graph, const ResidentWeights& weights, std::int64_t context, std::int64_t chunk)
    : graph_(graph),
      weights_(weights),
      head_(std::get<CrossEntropy>(graph[graph.turn()].ops.back())),
      context_(context),
      chunk_(std::min(chunk, context)),
      cache_(buffer<float>(cache_elements(graph, context))),
      workspace_(buffer<float>(kernels::cached_attention_workspace(context, Exec().concurrency()))),
      logits_(buffer<float>(head_.vocab)),
      ids_(buffer<std::int32_t>(chunk_)),
      positions_(buffer<std::int32_t>(chunk_)),
      samples_("wsc::csx::generator", static_cast<std::size_t>(chunk_)) {
  WSC_EXPECT(context >= 1 && chunk >= 1 && positions_fit(graph, context));
  place_tensors();
}

/// A tensor exists from the op that makes it to the last one that reads it.
void Generator::place_tensors() {
  std::vector<plan::Interval> lives(graph_.tensors.size());
  int now = 0;
  for_each_op(graph_, [&](const Op& op) {
    if (!std::holds_alternative<CrossEntropy>(op))
      for (const TensorId t : op_outputs(op)) lives[t.index] = {now, now, chunk_ * graph_[t].width};
    for (const TensorId t : op_inputs(op)) lives[t.index].end = now;
    ++now;
  });
  std::vector<plan::Interval> all;
  for (const plan::Interval& life : lives)
    if (life.elements > 0) all.push_back(life);
  arena_ = buffer<float>(plan::pack(all));
  places_.assign(graph_.tensors.size(), -1);
  for (std::size_t t = 0, i = 0; t < lives.size(); ++t)
    if (lives[t].elements > 0) places_[t] = all[i++].offset;
}

std::span<const float> Generator::feed(std::span<const std::int32_t> ids) {
  const auto count = static_cast<std::int64_t>(ids.size());
  WSC_EXPECT(count >= 1 && length_ + count <= context_);
  WSC_EXPECT(std::all_of(ids.begin(), ids.end(), [&](std::int32_t id) { return id >= 0 && id < head_.vocab; }));
  for (std::int64_t first = 0; first < count; first += chunk_) {
    const std::int64_t rows = std::min(chunk_, count - first);
    run(ids.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows)), first + rows == count);
    length_ += rows;
  }
  return {logits_.data(), logits_.size()};
}

void Generator::run(std::span<const std::int32_t> ids, bool wants_logits) {
  for (std::size_t r = 0; r < ids.size(); ++r) {
    ids_(r) = ids[r];
    positions_(r) = static_cast<std::int32_t>(length_ + static_cast<std::int64_t>(r));
  }
  Rows rows(*this, static_cast<std::int64_t>(ids.size()));
  float* cache = cache_.data();
  for_each_op(graph_, [&](const Op& op) {
    if (const auto* attention = std::get_if<Attention>(&op))
      attend(*attention, rows, cache);
    else if (!std::holds_alternative<CrossEntropy>(op))
      kernels::forward<float>(op, rows);
    else if (wants_logits)
      last_logits(rows);
  });
  rows.exec().fence("wsc::csx::generator");
}

/// `cache`: where this op's keys and values begin; moved on to those of the next attention op.
void Generator::attend(const Attention& op, Rows& rows, float*& cache) const {
  const std::size_t positions = static_cast<std::size_t>(context_), width = static_cast<std::size_t>(op.width);
  const kernels::KeyValueCache<float> seen{Matrix<float>(cache, positions, width),
                                           Matrix<float>(cache + positions * width, positions, width)};
  cache += 2 * positions * width;
  kernels::cached_attention<float>(rows.exec(), op, rows.value(op.qkv), seen, length_, rows.value(op.y), rows.workspace());
}

/// logits = x · tableᵀ of the last row alone: the others' next tokens are known.
void Generator::last_logits(Rows& rows) const {
  const float* const x = rows.value(head_.x).data() + (rows.rows().count - 1) * head_.width;
  kernels::gemm<float>(rows.exec(), kernels::Transpose::no, kernels::Transpose::yes, 1, head_.vocab, head_.width, 1, {x, head_.width},
                       {rows.weight(head_.table).data(), head_.width}, 0, logits_.data(), head_.vocab);
}

std::int64_t Generator::bytes() const {
  return 4 * static_cast<std::int64_t>(arena_.size() + cache_.size() + workspace_.size() + logits_.size());
}

}  // namespace wsc::csx
