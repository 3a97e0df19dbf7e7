// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/train/member.hpp"

namespace wsc::train {

/// Exact mean over all valid tokens of the evaluation data, whatever the batch.
struct Evaluation {
  double loss_sum = 0;
  std::int64_t valid_tokens = 0;
  double loss() const { return valid_tokens > 0 ? loss_sum / static_cast<double>(valid_tokens) : 0; }  ///< nats per token
  double perplexity() const;
};

/// Rank 0: orders the batches of the evaluation data, `max_batches` at most (0 = all). `first` opens the first of them and carries the
/// decision about the last step's gradients, if one is due.
Evaluation evaluate(Member& member, std::int64_t samples, std::int64_t batch, std::int64_t max_batches, PassOrder first);

}  // namespace wsc::train
