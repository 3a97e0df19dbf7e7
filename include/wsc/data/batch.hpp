// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "wsc/data/dataset.hpp"

namespace wsc::data {

/// What one rank reads of a global batch: samples at first_position + global_index[i].
struct BatchPart {
  std::int64_t first_position = 0;         ///< of the global batch, in samples since the start of the training
  std::vector<std::int64_t> global_index;  ///< positions within the global batch

  /// Samples first … first + count − 1 of the global batch.
  static BatchPart range(std::int64_t first_position, std::int64_t first, std::int64_t count);
};

/// The samples of one rank and step. Rows are (samples, T), row-major; a rank may have none.
struct Batch {
  std::int64_t step = 0;
  std::int64_t first_position = 0;  ///< of the global batch
  std::int64_t samples = 0, T = 0;
  std::vector<std::int64_t> global_index;  ///< (samples): position of each sample within the global batch
  std::vector<std::int32_t> input_ids;     ///< (samples, T)
  std::vector<std::int32_t> labels;        ///< (samples, T)
  std::vector<std::uint8_t> loss_mask;     ///< (samples, T); 1 = counts
  std::vector<std::int32_t> span;          ///< (samples, T), or empty: see SampleRows
  std::vector<std::int32_t> position;      ///< (samples, T), or empty: 0 … T − 1

  Batch() = default;
  Batch(std::int64_t samples, std::int64_t T, bool spans, bool positions);

  SampleRows rows(std::int64_t sample);
  std::int64_t valid_tokens() const;  ///< sum of loss_mask

  /// Memory that a batch takes, for the plan.
  static std::int64_t size_bytes(std::int64_t samples, std::int64_t T, bool spans, bool positions);
};

}  // namespace wsc::data
