// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/evaluate.hpp"

#include <algorithm>
#include <cmath>

namespace wsc::train {

double Evaluation::perplexity() const { return std::exp(loss()); }

Evaluation evaluate(Member& member, std::int64_t samples, std::int64_t batch, std::int64_t max_batches, PassOrder order,
                    const std::function<bool(const std::vector<RankReport>&)>& go_on) {
  Evaluation result;
  const std::int64_t all = (samples + batch - 1) / batch, batches = max_batches > 0 ? std::min(max_batches, all) : all;
  order.kind = PassKind::evaluate;
  order.batch = batch;
  for (std::int64_t b = 0; b < batches; ++b) {
    order.eval_batch = b;
    order.eval_last = b + 1 == batches;
    const std::vector<RankReport> reports = order_pass(member, order);
    for (const RankReport& report : reports) {
      result.loss_sum.add(report.loss);
      result.valid_tokens += report.valid_tokens;
    }
    order.decides = false;
    if (!go_on(reports) && b + 1 < batches) {
      result.complete = false;
      break;
    }
  }
  return result;
}

}  // namespace wsc::train
