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
};

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
