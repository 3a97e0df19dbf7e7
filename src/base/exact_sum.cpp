// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/exact_sum.hpp"

#include <cmath>
#include <limits>

namespace wsc {

// A term is a whole number of 53 bits times a power of two: it falls on three digits at most, each of which grows by less than 2^32.
void ExactSum::add(double term) {
  if (term == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(term, &exponent);
  if (!std::isfinite(term) || exponent > 340) {
    not_finite_ += std::isfinite(term) ? std::copysign(std::numeric_limits<double>::infinity(), term) : term;
    return;
  }
  auto whole = static_cast<std::uint64_t>(std::ldexp(std::fabs(fraction), 53));
  int place = exponent - 53 - lowest;
  if (place < 0) {
    whole = place > -64 ? whole >> -place : 0;
    place = 0;
  }
  constexpr std::uint64_t mask = 0xffffffffu;
  const int shift = place % 32;
  const std::uint64_t low = (whole & mask) << shift, high = ((whole >> 32) << shift) + (low >> 32);
  const std::int64_t sign = term < 0 ? -1 : 1;
  std::int64_t* const at = digit_.data() + place / 32;
  at[0] += sign * static_cast<std::int64_t>(low & mask);
  at[1] += sign * static_cast<std::int64_t>(high & mask);
  at[2] += sign * static_cast<std::int64_t>(high >> 32);
  if (++added_ >= std::int64_t{1} << 29) carry();
}

void ExactSum::add(const ExactSum& other) {
  ExactSum term = other;
  term.carry();
  carry();
  for (int d = 0; d < digits; ++d) digit_[d] += term.digit_[d];
  not_finite_ += term.not_finite_;
  carry();
}

void ExactSum::carry() {
  for (int d = 0; d + 1 < digits; ++d) {
    const std::int64_t over = digit_[d] >> 32;  // rounds down, so that what stays is not negative
    digit_[d] -= over * (std::int64_t{1} << 32);
    digit_[d + 1] += over;
  }
  added_ = 0;
}

double ExactSum::value() const {
  if (not_finite_ != 0) return not_finite_;  // also for NaN
  ExactSum sum = *this;
  sum.carry();
  const bool negative = sum.digit_[digits - 1] < 0;
  if (negative) {
    for (std::int64_t& d : sum.digit_) d = -d;
    sum.carry();
  }
  double total = 0;
  for (int d = digits - 1; d >= 0; --d) total += std::ldexp(static_cast<double>(sum.digit_[d]), 32 * d + lowest);
  return negative ? -total : total;
}

}  // namespace wsc
