// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/base/random.hpp"

namespace wsc::data {

/// A permutation of 0 … n − 1 chosen by a key, computed point by point: constant memory, any position at once.
/// A Feistel network (Luby and Rackoff 1988) with Philox as round function permutes the smallest 4^k ≥ n numbers; an image ≥ n is fed in
/// again until it is below n (cycle walking, Black and Rogaway 2002).
class Permutation {
 public:
  Permutation(std::int64_t n, const RandomKey& key);
  std::int64_t operator()(std::int64_t i) const;

 private:
  std::uint64_t encrypt(std::uint64_t x) const;

  std::uint64_t n_;
  int half_bits_;
  RandomKey key_;
};

/// The order of training: position p (samples since the start of the training) → sample. Each epoch is a permutation of its own, fixed by
/// seed and epoch: it depends neither on ranks and threads nor on batch sizes, and any position is reached at once.
class Sampler {
 public:
  /// `samples` ≥ 1. Without shuffle the order is that of the files.
  Sampler(std::int64_t samples, bool shuffle, std::int64_t seed);

  std::int64_t samples() const { return samples_; }
  std::int64_t epoch(std::int64_t position) const { return position / samples_; }
  std::int64_t sample(std::int64_t position) const;
  /// Tokens by which the windows of a corpus are moved in the epoch of this position, 0 … T − 1: later epochs do not see the same windows
  /// again. 0 in the first epoch, and without shuffle.
  std::int64_t window_shift(std::int64_t position, std::int64_t T) const;

 private:
  Permutation permutation(std::int64_t epoch) const;

  std::int64_t samples_;
  bool shuffle_;
  std::int64_t seed_;
};

}  // namespace wsc::data
