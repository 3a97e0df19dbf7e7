// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/base/formats.hpp"

/// Numbers as they are stored and as they are calculated with. Kernels are written once for all storage types: they load, calculate in
/// the arithmetic type and store once, which is where rounding happens.
namespace wsc::kernels {

template <class Real>
struct ArithmeticOf {
  using type = Real;
};
template <int E, int M>
struct ArithmeticOf<Float16<E, M>> {
  using type = float;
};
/// float for float and the formats of 16 bits, double for double. Also the type of sums, statistics, workspace and weight gradients.
template <class Real>
using Arithmetic = typename ArithmeticOf<Real>::type;

/// Whether storing rounds: the format is narrower than its arithmetic.
template <class Real>
inline constexpr bool rounds = !std::is_same_v<Real, Arithmetic<Real>>;

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Arithmetic<Real> load(const Real& x) {
  return static_cast<Arithmetic<Real>>(x);
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void store(Real& to, Arithmetic<Real> value) {
  if constexpr (rounds<Real>)
    to.bits = Real(value).bits;  // a number, not a struct: or loops over it are no vector instructions
  else
    to = value;
}

/// X(Real) for every storage type of activations.
#define WSC_FOR_ALL_REALS(X) \
  X(float);                  \
  X(double);                 \
  X(bfloat16);               \
  X(float16);                \
  X(cbfloat16)

}  // namespace wsc::kernels
