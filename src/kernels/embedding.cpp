// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {

template <class Real>
void forward(const Embedding& op, OpContext<Real>& context) {
  const std::int64_t width = op.width;
  const TokenIds ids = context.rows().ids;
  const Real* const table = context.weight(op.table).data();
  Real* const y = context.value(op.y).data();
  for_rows(
      "wsc::kernels::embedding_forward", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        const Real* const from = table + ids(r) * width;
        Real* const to = y + r * width;
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) store(to[c], load(from[c]));
      });
}

/// Rows with the same token meet in one row of the table's gradient: threads own columns and add in row order.
template <class Real>
void backward(const Embedding& op, OpContext<Real>& context) {
  const std::int64_t width = op.width, rows = context.rows().count;
  const TokenIds ids = context.rows().ids;
  const Real* const dy = context.gradient(op.y).data();
  Arithmetic<Real>* const dtable = context.weight_gradient(op.table).data();
  for_column_groups(
      "wsc::kernels::embedding_backward", context.exec(), width, KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const Real* const from = dy + r * width + first;
          Arithmetic<Real>* const to = dtable + ids(r) * width + first;
#pragma omp simd
          for (std::int64_t c = 0; c < count; ++c) to[c] += load(from[c]);
        }
      });
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(Embedding, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
