// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/graph/op.hpp"
#include "wsc/kernels/op_context.hpp"

/// Forward and backward of every op, instantiated for all storage types; formulas and shapes stand with the ops in graph/ops.
/// Backward adds to weight gradients and writes or adds to the inputs' gradients as the context says.
namespace wsc::kernels {

#define WSC_OP_KERNELS(OpType)                              \
  template <class Real>                                     \
  void forward(const OpType& op, OpContext<Real>& context); \
  template <class Real>                                     \
  void backward(const OpType& op, OpContext<Real>& context)

WSC_OP_KERNELS(Embedding);
WSC_OP_KERNELS(Positions);
WSC_OP_KERNELS(Dropout);
WSC_OP_KERNELS(LayerNorm);
WSC_OP_KERNELS(Linear);
WSC_OP_KERNELS(Attention);
WSC_OP_KERNELS(Activation);
WSC_OP_KERNELS(Add);
WSC_OP_KERNELS(CrossEntropy);
#undef WSC_OP_KERNELS

/// Where a kernel is defined.
#define WSC_INSTANTIATE_OP(OpType, Real)                  \
  template void forward(const OpType&, OpContext<Real>&); \
  template void backward(const OpType&, OpContext<Real>&)

template <class Real>
void forward(const Op& op, OpContext<Real>& context) {
  std::visit([&](const auto& o) { forward(o, context); }, op);
}
template <class Real>
void backward(const Op& op, OpContext<Real>& context) {
  std::visit([&](const auto& o) { backward(o, context); }, op);
}

}  // namespace wsc::kernels
