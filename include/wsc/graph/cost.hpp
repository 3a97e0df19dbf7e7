// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace wsc {

/// What an op couples: a tile may cut the batch anywhere (rows) or only between samples.
enum class Coupling { rows, sample };

/// The piece of a batch that an op works on at once.
struct Extent {
  std::int64_t rows = 0;    ///< tokens of the tile
  std::int64_t tokens = 0;  ///< T: tokens of a sample
  int threads = 1;          ///< threads of the csx, for workspace that exists per thread
  bool rounded = false;     ///< activations are stored in 16 bits: what is added up needs room of its own
};

/// Products of operands of 16 bits are made of blocks of so many rows, columns and terms in fp32: large enough that converting an operand
/// again for every block is a small share of the time, small enough for the outer caches.
inline constexpr std::int64_t product_block = 1024;
/// Workspace elements of such products between arrays of (x, y), (y, z) and (x, z) elements, whichever of them is the result.
constexpr std::int64_t product_workspace(std::int64_t x, std::int64_t y, std::int64_t z) {
  const auto side = [](std::int64_t n) { return (n < product_block ? n : product_block) + 16; };  // rows lie 16 elements apart
  return side(x) * side(y) + side(y) * side(z) + side(x) * side(z);
}

/// Rows of a column sum that are added up in the type of the data; these partial sums are then added in double, in row order.
inline constexpr std::int64_t column_sum_rows = 16;
/// Workspace elements of such sums over `rows` rows of this width.
constexpr std::int64_t column_sum_workspace(std::int64_t rows, std::int64_t width) {
  return (rows + column_sum_rows - 1) / column_sum_rows * width;
}

/// Arithmetic of one op on an extent. FLOPs count a multiply-add as two.
struct Cost {
  double forward_flops = 0;  ///< executed: causal half skipped
  double backward_flops = 0;
  double forward_bytes = 0;  ///< touched in memory, weights included
  double backward_bytes = 0;

  Cost& operator+=(const Cost& o) {
    forward_flops += o.forward_flops;
    backward_flops += o.backward_flops;
    forward_bytes += o.forward_bytes;
    backward_bytes += o.backward_bytes;
    return *this;
  }
};

}  // namespace wsc
