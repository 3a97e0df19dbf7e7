// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/cost.hpp"

namespace wsc {

/// y = x · keep / (1 − rate), keep = (uniform ≥ rate).  x, y: (rows, C).  The random number of an element is keyed by the op's name,
/// the step, the sample's position in the global batch and (token, column), so it is rebuilt in backward and nothing is kept.
/// Outside training the identity.
struct Dropout {
  TensorId x, y;
  double rate = 0;
  std::int64_t width = 0;  // C
  std::string name;        // key of its random numbers

  static constexpr Coupling coupling = Coupling::rows;
  static constexpr bool backward_reads_weights = false;
  std::vector<TensorId> inputs() const { return {x}; }
  std::vector<TensorId> outputs() const { return {y}; }
  std::vector<TensorId> kept() const { return {}; }
  std::vector<WeightId> weights() const { return {}; }
  std::int64_t workspace(const Extent&) const { return 0; }
  Cost cost(const Extent& e) const {
    const double elements = 1.0 * e.rows * width;
    return {.forward_flops = 12 * elements, .backward_flops = 12 * elements, .forward_bytes = 8 * elements, .backward_bytes = 8 * elements};
  }
};

}  // namespace wsc
