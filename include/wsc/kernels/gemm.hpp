// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/base/view.hpp"
#include "wsc/kernels/arithmetic.hpp"

namespace wsc::kernels {

enum class Transpose : bool { no, yes };

/// A row-major operand: `rows` × `columns` as stored, consecutive rows `stride` elements apart.
template <class Real>
struct Operand {
  const Real* data;
  std::int64_t stride;
};

/// C = alpha · op(A) · op(B) + beta · C, with op(A): (m, k), op(B): (k, n), C: (m, n), all row-major.
/// The one narrow interface to matrix multiplication: fp32 goes to oneDNN on hosts, double to the portable version. Called inside a
/// parallel kernel it runs on the calling thread alone. The result depends on shapes and thread count only.
template <class Real>
void gemm(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Real alpha, Operand<Real> a,
          Operand<Real> b, Real beta, Real* c, std::int64_t c_stride);

/// What a product is added to: row r of `matrix`, and `row` on every row. Either may be null.
template <class Real>
struct Addend {
  const Real* matrix = nullptr;
  std::int64_t stride = 0;
  const Real* row = nullptr;
};

/// C = addend + op(A) · op(B) for every storage type, rounded once. The addend's matrix may be C. Operands of 16 bits go to oneDNN where
/// the processor has instructions for them, else through fp32 block by block in the workspace, product_workspace(m, n, k) elements (none
/// for float and double). Sums are fp32 either way.
template <class Real>
void product(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Operand<Real> a, Operand<Real> b,
             const Addend<Real>& addend, Real* c, std::int64_t c_stride, Vector<Arithmetic<Real>> workspace);

/// C += op(A) · op(B) likewise, with sums that are not rounded.
template <class Real>
void add_product(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Operand<Real> a,
                 Operand<Real> b, Arithmetic<Real>* c, std::int64_t c_stride, Vector<Arithmetic<Real>> workspace);

/// For the whole process: results depend on shapes only, for any number of threads. Products are then cut into blocks of C that
/// depend on its shape, and each is one thread's work; without it the library divides the work as suits the threads it has.
void same_products_for_all_threads(bool on);

/// The same without a library: fallback and test oracle.
template <class Real>
void gemm_portable(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Real alpha,
                   Operand<Real> a, Operand<Real> b, Real beta, Real* c, std::int64_t c_stride);

}  // namespace wsc::kernels
