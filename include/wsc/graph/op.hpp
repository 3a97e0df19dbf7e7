// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "wsc/graph/ops/activation.hpp"
#include "wsc/graph/ops/add.hpp"
#include "wsc/graph/ops/attention.hpp"
#include "wsc/graph/ops/cross_entropy.hpp"
#include "wsc/graph/ops/dropout.hpp"
#include "wsc/graph/ops/embedding.hpp"
#include "wsc/graph/ops/layer_norm.hpp"
#include "wsc/graph/ops/linear.hpp"
#include "wsc/graph/ops/positions.hpp"

namespace wsc {

/// The closed set of ops. Each says everything about itself: inputs, outputs, what backward needs (kept), weights, coupling, cost and
/// workspace (fp32 elements that its kernel uses while it runs). A missing case in a visitor does not compile.
using Op = std::variant<Embedding, Positions, Dropout, LayerNorm, Linear, Attention, Activation, Add, CrossEntropy>;

/// Name for printing.
std::string op_name(const Op& op);

inline std::vector<TensorId> op_inputs(const Op& op) {
  return std::visit([](const auto& o) { return o.inputs(); }, op);
}
inline std::vector<TensorId> op_outputs(const Op& op) {
  return std::visit([](const auto& o) { return o.outputs(); }, op);
}
/// The outputs that have a gradient: the first one, not what is only kept for backward; none of the head, which starts backward.
inline std::vector<TensorId> op_differentiated(const Op& op) {
  if (std::holds_alternative<CrossEntropy>(op)) return {};
  return {op_outputs(op).front()};
}
/// The tensors that the op's backward reads, besides gradients.
inline std::vector<TensorId> op_kept(const Op& op) {
  return std::visit([](const auto& o) { return o.kept(); }, op);
}
inline std::vector<WeightId> op_weights(const Op& op) {
  return std::visit([](const auto& o) { return o.weights(); }, op);
}
inline bool op_backward_reads_weights(const Op& op) {
  return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::backward_reads_weights; }, op);
}
inline Coupling op_coupling(const Op& op) {
  return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::coupling; }, op);
}
inline Cost op_cost(const Op& op, const Extent& e) {
  return std::visit([&](const auto& o) { return o.cost(e); }, op);
}
inline std::int64_t op_workspace(const Op& op, const Extent& e) {
  return std::visit([&](const auto& o) { return o.workspace(e); }, op);
}

}  // namespace wsc
