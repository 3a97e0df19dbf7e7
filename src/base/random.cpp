// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/random.hpp"

#include <cmath>
#include <numbers>

namespace wsc {

RandomKey::RandomKey(std::uint64_t seed, std::string_view purpose, std::string_view name, std::uint64_t step) {
  const auto mixed = philox(seed, hash_name(purpose), hash_name(name));
  const std::uint64_t a = (std::uint64_t{mixed[1]} << 32) | mixed[0], b = (std::uint64_t{mixed[3]} << 32) | mixed[2];
  const auto keyed = philox(a, b, step);
  key_ = (std::uint64_t{keyed[1]} << 32) | keyed[0];
}

double RandomKey::normal_attempt(std::uint64_t sample, std::uint64_t element, std::uint32_t attempt) const {
  // The attempt sits in the top bits of the counter, which samples never reach.
  const auto r = philox(key_, sample | (std::uint64_t{attempt} << 56), element);
  const double u1 = ((std::uint64_t{r[0]} << 21 ^ r[1]) + 0.5) * 0x1p-53, u2 = ((std::uint64_t{r[2]} << 21 ^ r[3]) + 0.5) * 0x1p-53;
  return std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2);
}

double RandomKey::normal(std::uint64_t sample, std::uint64_t element) const { return normal_attempt(sample, element, 1); }

double RandomKey::truncated_normal(std::uint64_t sample, std::uint64_t element) const {
  for (std::uint32_t attempt = 1;; ++attempt) {
    const double x = normal_attempt(sample, element, attempt);
    if (std::fabs(x) <= 2) return x;
  }
}

}  // namespace wsc
