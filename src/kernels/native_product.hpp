// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/kernels/gemm.hpp"

namespace wsc::kernels {

/// Whether this processor multiplies matrices of a 16-bit format faster than of fp32.
template <class Format>
bool native_products();

/// C = or += op(A) · op(B), sums in fp32; only where native_products().
template <class Format>
void native_product(const Exec& exec, Transpose ta, Transpose tb, std::int64_t m, std::int64_t n, std::int64_t k, Operand<Format> a,
                    Operand<Format> b, bool adds, float* c, std::int64_t c_stride);

}  // namespace wsc::kernels
