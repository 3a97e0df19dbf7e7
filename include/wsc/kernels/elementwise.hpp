// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/kernels/op_context.hpp"

/// Small kernels that ops and other folders share. Shapes as in base/view.hpp.
namespace wsc::kernels {

/// x[i] = value.
template <class Real>
void fill(const Exec& exec, Vector<Real> x, Real value);

/// to[i] = from[i]; nothing where the two are the same memory.
template <class Real>
void copy(const Exec& exec, Vector<Real> to, Vector<const Real> from);

/// to[i] += from[i].
template <class Real>
void add(const Exec& exec, Vector<Real> to, Vector<const Real> from);

/// x[i] *= factor.
template <class Real>
void scale(const Exec& exec, Vector<Real> x, Real factor);

/// sums[r] = Σ m[r, c]², one double per row: added in row order by the caller they give a norm that does not depend on threads.
template <class Real>
void row_sums_of_squares(const Exec& exec, Matrix<const Real> m, Vector<double> sums);

/// sums[c] += Σ m[r, c] over the rows, in an order that depends on the shape only. sums: (columns) contiguous; workspace:
/// column_sum_workspace(rows, columns) elements.
template <class Real>
void add_column_sums(const Exec& exec, Matrix<const Real> m, Vector<Arithmetic<Real>> workspace, Arithmetic<Real>* sums);

/// The gradient dy passed on to an input as it is: overwrites or adds as the context says.
template <class Real>
void pass_gradient(const Exec& exec, Matrix<const Real> dy, const GradientOut<Real>& dx);

/// All elements of a contiguous matrix.
template <class Real>
Vector<Real> flat(const Matrix<Real>& m) {
  return Vector<Real>(m.data(), m.extent(0) * m.extent(1));
}

}  // namespace wsc::kernels
