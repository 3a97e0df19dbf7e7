// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "wsc/base/random.hpp"

namespace wsc::kernels {

/// Which elements dropout keeps: keep = (uniform ≥ rate), and the kept ones are multiplied by 1 / (1 − rate).
class DropoutMask {
 public:
  /// rate: 0 ≤ rate < 1.
  DropoutMask(const RandomKey& key, double rate)
      : key_(key), threshold_(static_cast<std::uint32_t>(std::ceil(rate * 0x1p24))), kept_(1 / (1 - rate)) {}

  /// factor[i] = factor of element first + i of a sample: 0 or 1 / (1 − rate).
  template <class Real>
  KOKKOS_INLINE_FUNCTION void factors(std::uint64_t sample, std::uint64_t first, std::int64_t count, Real* factor) const {
    const std::int64_t lead = static_cast<std::int64_t>(first % 4);  // elements of the first quad that come before `first`
    const std::uint64_t first_quad = first / 4;
    const Real kept = static_cast<Real>(kept_);
    for (std::int64_t quad = 0; 4 * quad < count + lead; ++quad) {
      const auto bits = key_.bits(sample, first_quad + quad);
      for (std::int64_t j = 0; j < 4; ++j) {
        const std::int64_t i = 4 * quad + j - lead;
        if (i >= 0 && i < count) factor[i] = (bits[j] >> 8) >= threshold_ ? kept : Real(0);
      }
    }
  }

 private:
  RandomKey key_;
  std::uint32_t threshold_;  // in units of 2^-24, as the uniform numbers
  double kept_;
};

}  // namespace wsc::kernels
