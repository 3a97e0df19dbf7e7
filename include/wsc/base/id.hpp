// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>

namespace wsc {

/// An index into one particular table; ids of different tables cannot be mixed up. -1 means none.
template <class Tag>
struct Id {
  int index = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t i) : index(static_cast<int>(i)) {}
  constexpr explicit Id(int i) : index(i) {}
  constexpr bool valid() const { return index >= 0; }
  constexpr auto operator<=>(const Id&) const = default;
};

using TensorId = Id<struct TensorTag>;
using WeightId = Id<struct WeightTag>;  ///< a weight matrix: what one GEMM reads
using ParamId = Id<struct ParamTag>;    ///< a named parameter: a row range of a weight matrix
using BlockId = Id<struct BlockTag>;
using StageId = Id<struct StageTag>;

}  // namespace wsc
