// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/kernels/elementwise.hpp"

#include "wsc/base/error.hpp"
#include "wsc/kernels/loops.hpp"

namespace wsc::kernels {

template <class Real>
void fill(const Exec& exec, Vector<Real> x, Real value) {
  Real* const p = x.data();
  for_chunks(
      "wsc::kernels::fill", exec, x.extent(0), KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) p[i] = value;
      });
}

template <class Real>
void copy(const Exec& exec, Vector<Real> to, Vector<const Real> from) {
  WSC_EXPECT(to.extent(0) == from.extent(0));
  Real* const out = to.data();
  const Real* const in = from.data();
  if (out == in) return;
  for_chunks(
      "wsc::kernels::copy", exec, to.extent(0), KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) out[i] = in[i];
      });
}

template <class Real>
void add(const Exec& exec, Vector<Real> to, Vector<const Real> from) {
  WSC_EXPECT(to.extent(0) == from.extent(0));
  Real* const out = to.data();
  const Real* const in = from.data();
  for_chunks(
      "wsc::kernels::add_to", exec, to.extent(0), KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) store(out[i], load(out[i]) + load(in[i]));
      });
}

template <class Real>
void scale(const Exec& exec, Vector<Real> x, Real factor) {
  Real* const p = x.data();
  for_chunks(
      "wsc::kernels::scale", exec, x.extent(0), KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
#pragma omp simd
        for (std::int64_t i = begin; i < end; ++i) p[i] *= factor;
      });
}

template <class Real>
void row_sums_of_squares(const Exec& exec, Matrix<const Real> m, Vector<double> sums) {
  WSC_EXPECT(sums.extent(0) >= m.extent(0));
  const std::int64_t columns = m.extent(1);
  const Real* const data = m.data();
  double* const out = sums.data();
  for_rows(
      "wsc::kernels::row_sums_of_squares", exec, m.extent(0), KOKKOS_LAMBDA(std::int64_t r) {
        const Real* const row = data + r * columns;
        out[r] = sum_of<double>(columns, [row](std::int64_t i) { return double{row[i]} * double{row[i]}; });
      });
}

template <class Real>
void add_column_sums(const Exec& exec, Matrix<const Real> m, Vector<Arithmetic<Real>> workspace, Arithmetic<Real>* sums) {
  using A = Arithmetic<Real>;
  const std::int64_t rows = m.extent(0), columns = m.extent(1);
  WSC_EXPECT(static_cast<std::int64_t>(workspace.extent(0)) >= column_sum_workspace(rows, columns));
  const Real* const data = m.data();
  add_row_terms(
      "wsc::kernels::column_sums", exec, rows, columns, workspace.data(), KOKKOS_LAMBDA(std::int64_t r, A * partial) {
        const Real* const row = data + r * columns;
#pragma omp simd
        for (std::int64_t c = 0; c < columns; ++c) partial[c] += load(row[c]);
      });
  add_partials<A>("wsc::kernels::column_sums", exec, rows, columns, workspace.data(), columns, sums);
}

template <class Real>
void pass_gradient(const Exec& exec, Matrix<const Real> dy, const GradientOut<Real>& dx) {
  if (dx.accumulate)
    add(exec, flat(dx.value), flat(dy));
  else
    copy(exec, flat(dx.value), flat(dy));
}

#define WSC_INSTANTIATE(Real)                                                                                  \
  template void copy(const Exec&, Vector<Real>, Vector<const Real>);                                           \
  template void add(const Exec&, Vector<Real>, Vector<const Real>);                                            \
  template void add_column_sums(const Exec&, Matrix<const Real>, Vector<Arithmetic<Real>>, Arithmetic<Real>*); \
  template void pass_gradient(const Exec&, Matrix<const Real>, const GradientOut<Real>&)
WSC_FOR_ALL_REALS(WSC_INSTANTIATE);
#undef WSC_INSTANTIATE

#define WSC_INSTANTIATE(Real)                           \
  template void fill(const Exec&, Vector<Real>, Real);  \
  template void scale(const Exec&, Vector<Real>, Real); \
  template void row_sums_of_squares(const Exec&, Matrix<const Real>, Vector<double>)
WSC_INSTANTIATE(float);
WSC_INSTANTIATE(double);
#undef WSC_INSTANTIATE

}  // namespace wsc::kernels
