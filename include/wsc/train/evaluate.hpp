// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "wsc/train/member.hpp"

namespace wsc::train {

/// Exact mean over all valid tokens of the evaluation data, whatever the batch.
struct Evaluation {
  ExactSum loss_sum;
  std::int64_t valid_tokens = 0;
  bool complete = true;  ///< false: broken off, the sums are those of the batches so far
  double loss() const { return valid_tokens > 0 ? loss_sum.value() / static_cast<double>(valid_tokens) : 0; }  ///< nats per token
  double perplexity() const;
};

/// Rank 0: orders the batches of the evaluation data, `max_batches` at most (0 = all). `first` opens the first of them and carries the
/// decision about the last step's gradients, if one is due. `go_on` sees the reports of each batch; false breaks off.
Evaluation evaluate(Member& member, std::int64_t samples, std::int64_t batch, std::int64_t max_batches, PassOrder first,
                    const std::function<bool(const std::vector<RankReport>&)>& go_on);

}  // namespace wsc::train
