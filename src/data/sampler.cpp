// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/sampler.hpp"

#include "wsc/base/error.hpp"

namespace wsc::data {

Permutation::Permutation(std::int64_t n, const RandomKey& key) : n_(static_cast<std::uint64_t>(n)), half_bits_(1), key_(key) {
  WSC_EXPECT(n >= 1 && n <= std::int64_t{1} << 62);
  while ((std::uint64_t{1} << (2 * half_bits_)) < n_) ++half_bits_;
}

std::uint64_t Permutation::encrypt(std::uint64_t x) const {
  constexpr int rounds = 8;  // 4 suffice in theory; small domains mix better with more
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_, right = x & mask;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t mixed = left ^ (key_.bits(static_cast<std::uint64_t>(round), right)[0] & mask);
    left = right;
    right = mixed;
  }
  return (left << half_bits_) | right;
}

std::int64_t Permutation::operator()(std::int64_t i) const {
  WSC_EXPECT(i >= 0 && static_cast<std::uint64_t>(i) < n_);
  std::uint64_t x = encrypt(static_cast<std::uint64_t>(i));
  while (x >= n_) x = encrypt(x);
  return static_cast<std::int64_t>(x);
}

Sampler::Sampler(std::int64_t samples, bool shuffle, std::int64_t seed) : samples_(samples), shuffle_(shuffle), seed_(seed) {
  WSC_EXPECT(samples >= 1);
}

Permutation Sampler::permutation(std::int64_t epoch) const {
  return Permutation(samples_, RandomKey(static_cast<std::uint64_t>(seed_), "data", "shuffle", static_cast<std::uint64_t>(epoch)));
}

std::int64_t Sampler::sample(std::int64_t position) const {
  WSC_EXPECT(position >= 0);
  const std::int64_t inside = position % samples_;
  return shuffle_ ? permutation(epoch(position))(inside) : inside;
}

std::int64_t Sampler::window_shift(std::int64_t position, std::int64_t T) const {
  const std::int64_t e = epoch(position);
  if (!shuffle_ || e == 0) return 0;
  const RandomKey key(static_cast<std::uint64_t>(seed_), "data", "window shift", static_cast<std::uint64_t>(e));
  return static_cast<std::int64_t>(key.bits(0, 0)[0]) % T;
}

}  // namespace wsc::data
