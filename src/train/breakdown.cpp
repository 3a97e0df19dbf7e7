// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/breakdown.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"
#include "wsc/base/format.hpp"
#include "wsc/train/pass.hpp"

namespace wsc::train {

Breakdown& Breakdown::operator+=(const Breakdown& o) {
  compute += o.compute;
  data += o.data;
  wait += o.wait;
  optimizer += o.optimizer;
  optimizer_runs_beside = o.optimizer_runs_beside;
  other += o.other;
  agreement += o.agreement;
  return *this;
}

Breakdown breakdown(const std::vector<RankReport>& reports, const fabric::Layout& layout, bool streamed, double step_s) {
  const PassSeconds* csx = nullptr;
  double optimizer = 0;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const PassSeconds& s = reports[r].seconds;
    optimizer = std::max(optimizer, s.optimizer);
    if (streamed && layout.is_memoryx(fabric::Rank(r))) continue;
    if (!csx || s.wait.total() > csx->wait.total()) csx = &s;
  }
  WSC_EXPECT(csx != nullptr);
  Breakdown b{.compute = csx->compute, .data = csx->data, .wait = csx->wait, .optimizer = optimizer, .optimizer_runs_beside = streamed};
  b.other = std::max(0.0, csx->pass - csx->agreement - b.total());
  b.agreement = csx->agreement + std::max(0.0, step_s - csx->pass);
  return b;
}

void BreakdownTable::add(const Breakdown& step, double step_s, double overlap) {
  if (++steps_ == 2) {  // the first one warmed up
    sum_ = {};
    seconds_ = overlap_ = 0;
  }
  sum_ += step;
  seconds_ += step_s;
  overlap_ += overlap;
}

double BreakdownTable::step_s() const { return seconds_ / counted(); }

std::string BreakdownTable::text(const Besides& besides, const plan::Prediction& prediction) const {
  const int n = counted();
  std::string text = printf_text("Where the time of a step went (mean of %d, on the csx that waited longest):\n", n);
  const auto line = [&](const char* what, double seconds) {
    text += printf_text("  %-40s %10.4f s %6.1f %%\n", what, seconds / n, 100 * seconds / std::max(seconds_, 1e-9));
  };
  const bool streamed = sum_.optimizer_runs_beside;
  line("compute", sum_.compute);
  if (streamed) {
    line("wait for the first weights", sum_.wait.first_weights);
    line("wait for weights", sum_.wait.weights);
    line("wait for gradient buffers", sum_.wait.gradient_buffers);
    line("wait for the last gradients to leave", sum_.wait.finish);
  } else {
    line("optimizer", sum_.optimizer);
  }
  line("data", sum_.data);
  line("agreement of the ranks, decision", sum_.agreement);
  line("other", sum_.other);
  line("step", seconds_);
  if (streamed)
    text += printf_text("Beside it: optimizer %.4f s per step on memoryx; overlap of transfers with compute %.1f %%.\n", sum_.optimizer / n,
                        100 * overlap_ / n);
  const auto compare = [&](const char* what, double compute, double wait, double optimizer, double step, double overlap) {
    text += printf_text("%-10s step %.4f s, compute %.4f s, optimizer %.4f s", what, step, compute, optimizer);
    if (streamed) text += printf_text(", exposed wait %.4f s, overlap %.1f %%", wait, 100 * overlap);
    text += "\n";
  };
  compare("Measured:", sum_.compute / n, sum_.wait.total() / n, sum_.optimizer / n, step_s(), overlap_ / n);
  compare("Predicted:", prediction.compute, prediction.exposed_wait, prediction.optimizer, prediction.step, prediction.overlap);
  text += printf_text("Between steps, in all: checkpoints %.2f s, evaluations %.2f s.", besides.checkpoints, besides.evaluations);
  return text;
}

}  // namespace wsc::train
