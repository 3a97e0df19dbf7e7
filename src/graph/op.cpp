// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/graph/op.hpp"

namespace wsc {
namespace {

struct Name {
  std::string operator()(const Embedding&) const { return "embedding"; }
  std::string operator()(const Positions& o) const { return o.table.valid() ? "positions" : "positions(sinusoidal)"; }
  std::string operator()(const Dropout&) const { return "dropout"; }
  std::string operator()(const LayerNorm&) const { return "layer_norm"; }
  std::string operator()(const Linear& o) const {
    return std::string(o.residual.valid() ? "residual+linear(" : "linear(") + std::to_string(o.in) + "→" + std::to_string(o.out) + ")";
  }
  std::string operator()(const Attention& o) const { return "attention(heads " + std::to_string(o.heads) + ")"; }
  std::string operator()(const Activation& o) const {
    return o.function == Nonlinearity::relu ? "bias+relu" : o.function == Nonlinearity::gelu ? "bias+gelu" : "bias+gelu_tanh";
  }
  std::string operator()(const Add&) const { return "add"; }
  std::string operator()(const CrossEntropy&) const { return "cross_entropy"; }
};

}  // namespace

std::string op_name(const Op& op) { return std::visit(Name{}, op); }

}  // namespace wsc
