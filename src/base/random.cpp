// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/random.hpp"

namespace wsc {

RandomKey::RandomKey(std::uint64_t seed, std::string_view purpose, std::string_view name, std::uint64_t step) {
  const auto mixed = philox(seed, hash_name(purpose), hash_name(name));
  const std::uint64_t a = (std::uint64_t{mixed[1]} << 32) | mixed[0], b = (std::uint64_t{mixed[3]} << 32) | mixed[2];
  const auto keyed = philox(a, b, step);
  key_ = (std::uint64_t{keyed[1]} << 32) | keyed[0];
}

}  // namespace wsc
