// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/batch.hpp"

#include <numeric>

namespace wsc::data {

BatchPart BatchPart::range(std::int64_t first_position, std::int64_t first, std::int64_t count) {
  BatchPart part{first_position, std::vector<std::int64_t>(static_cast<std::size_t>(count))};
  std::iota(part.global_index.begin(), part.global_index.end(), first);
  return part;
}

Batch::Batch(std::int64_t samples, std::int64_t T, bool spans, bool positions) : samples(samples), T(T) {
  const std::size_t n = static_cast<std::size_t>(samples * T);
  global_index.resize(static_cast<std::size_t>(samples));
  input_ids.resize(n);
  labels.resize(n);
  loss_mask.resize(n);
  if (spans) span.resize(n);
  if (positions) position.resize(n);
}

SampleRows Batch::rows(std::int64_t sample) {
  const std::size_t at = static_cast<std::size_t>(sample * T);
  return {input_ids.data() + at, labels.data() + at, loss_mask.data() + at, span.empty() ? nullptr : span.data() + at,
          position.empty() ? nullptr : position.data() + at};
}

std::int64_t Batch::valid_tokens() const { return std::accumulate(loss_mask.begin(), loss_mask.end(), std::int64_t{0}); }

std::int64_t Batch::size_bytes(std::int64_t samples, std::int64_t T, bool spans, bool positions) {
  const std::int64_t per_token = 2 * sizeof(std::int32_t) + sizeof(std::uint8_t) + (int{spans} + int{positions}) * sizeof(std::int32_t);
  return samples * (T * per_token + static_cast<std::int64_t>(sizeof(std::int64_t)));
}

}  // namespace wsc::data
