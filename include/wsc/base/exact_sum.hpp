// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace wsc {

/// A sum of doubles without rounding: the same bits in whatever order and on however many ranks it is made. Plain bytes. The sum is an
/// integer multiple of 2^-384; smaller parts of a term are cut off, terms of 2^340 and more make it infinite.
class ExactSum {
 public:
  void add(double term);
  void add(const ExactSum& other);
  /// The sum, rounded; not finite where a term was not.
  double value() const;

 private:
  void carry();

  static constexpr int digits = 24, lowest = -384;  // digit d counts 2^(32 d + lowest)
  std::array<std::int64_t, digits> digit_{};        // after carry(): all but the last one in [0, 2^32)
  std::int64_t added_ = 0;                          // terms since the last carry
  double not_finite_ = 0;
};

}  // namespace wsc
