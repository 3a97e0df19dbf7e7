// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "wsc/kernels/elementwise.hpp"
#include "wsc/kernels/loops.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {
namespace {

template <class Real>
void add_learned(const Positions& op, OpContext<Real>& context) {
  const std::int64_t width = op.width;
  const auto position = context.rows().position;
  const Real* const table = context.weight(op.table).data();
  const Real* const x = context.value(op.x).data();
  Real* const y = context.value(op.y).data();
  for_rows(
      "wsc::kernels::positions_learned", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        const Real* const in = x + r * width;
        const Real* const entry = table + position(r) * width;
        Real* const out = y + r * width;
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) store(out[c], load(in[c]) + load(entry[c]));
      });
}

/// Columns 2i and 2i + 1: sin and cos of position · 10000^(−2i / C). Angles in double: a float has no fraction left at large positions.
template <class Real>
void add_sinusoids(const Positions& op, OpContext<Real>& context) {
  using A = Arithmetic<Real>;
  const std::int64_t width = op.width;
  const auto position = context.rows().position;
  const Real* const x = context.value(op.x).data();
  Real* const y = context.value(op.y).data();
  for_rows(
      "wsc::kernels::positions_sinusoidal", context.exec(), context.rows().count, KOKKOS_LAMBDA(std::int64_t r) {
        const double step = std::pow(10000.0, -2.0 / width);
        double frequency = 1;
        for (std::int64_t c = 0; c < width; c += 2, frequency *= step) {
          const double angle = position(r) * frequency;
          store(y[r * width + c], static_cast<A>(load(x[r * width + c]) + std::sin(angle)));
          if (c + 1 < width) store(y[r * width + c + 1], static_cast<A>(load(x[r * width + c + 1]) + std::cos(angle)));
        }
      });
}

/// Samples share the table's rows: threads own columns and add in row order.
template <class Real>
void add_to_table(const Positions& op, OpContext<Real>& context) {
  const std::int64_t width = op.width, rows = context.rows().count;
  const auto position = context.rows().position;
  const Real* const dy = context.gradient(op.y).data();
  Arithmetic<Real>* const dtable = context.weight_gradient(op.table).data();
  for_column_groups(
      "wsc::kernels::positions_backward", context.exec(), width, KOKKOS_LAMBDA(std::int64_t first, std::int64_t count) {
        for (std::int64_t r = 0; r < rows; ++r) {
          const Real* const from = dy + r * width + first;
          Arithmetic<Real>* const to = dtable + position(r) * width + first;
#pragma omp simd
          for (std::int64_t c = 0; c < count; ++c) to[c] += load(from[c]);
        }
      });
}

}  // namespace

template <class Real>
void forward(const Positions& op, OpContext<Real>& context) {
  if (op.table.valid())
    add_learned(op, context);
  else
    add_sinusoids(op, context);
}

template <class Real>
void backward(const Positions& op, OpContext<Real>& context) {
  if (op.table.valid()) add_to_table(op, context);
  pass_gradient(context.exec(), context.gradient(op.y), context.gradient_out(op.x));
}

#define WSC_INSTANTIATE(Real) WSC_INSTANTIATE_OP(Positions, Real)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
