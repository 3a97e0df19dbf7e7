// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "wsc/base/clock.hpp"
#include "wsc/base/trace.hpp"
#include "wsc/train/roles.hpp"
#include "wsc/train/step.hpp"

namespace wsc::train {

CsxRole::CsxRole(const Graph& graph, const Settings& settings, const Plans& plans, int csx, std::unique_ptr<fabric::CsxStreams> streams,
                 CsxData data)
    : settings_(settings), plans_(plans), index_(csx), csx_(graph, csx), streams_(std::move(streams)), data_(data) {
  for (const auto& [batch, pass] : plans_.all_train()) csx_.prepare(pass.plan);
}

void CsxRole::start_reading(std::int64_t step, std::int64_t position) {
  next_position_ = position;
  const InputSettings& input = settings_.train_input;
  train_reader_.emplace(
      *data_.train, data::Sampler(data_.train->size(), input.shuffle, input.shuffle_seed),
      [this](std::int64_t s) { return part_of_step(s); }, step, input.prefetch_batches);
}

/// Called by the reader thread, steps in order.
std::optional<data::BatchPart> CsxRole::part_of_step(std::int64_t step) {
  if (step >= settings_.runconfig.max_steps) return std::nullopt;
  const std::int64_t batch = settings_.batch_size(step);
  data::BatchPart part{next_position_, csx::Csx::samples(plans_.train(batch).plan, index_)};
  next_position_ += batch;
  return part;
}

/// The next batch. Where it cannot be read, one without samples: the other ranks count on this one's part in the pass.
data::Batch CsxRole::next(data::BatchReader& reader, std::int64_t number) {
  data_s_ = 0;
  const Timed timed(data_s_);
  const trace::Span span("wait for data");
  try {
    std::optional<data::Batch> batch = reader.next();
    WSC_ASSERT(batch && batch->step == number);
    return std::move(*batch);
  } catch (const Error& error) {
    failure_ = error;
    return {};
  }
}

const data::Batch& CsxRole::read(const PassOrder& order) {
  if (order.kind == PassKind::step) return batch_ = next(*train_reader_, order.step);
  if (order.eval_batch == 0 || !eval_reader_) start_evaluation(order.eval_batch);
  batch_ = next(*eval_reader_, order.eval_batch);
  if (order.eval_last) eval_reader_.reset();
  return batch_;
}

void CsxRole::run(const PassOrder& order, const PassStream& stream) {
  csx::PassNumbers numbers{.training = order.kind == PassKind::step, .row_places = stream.places()};
  if (numbers.training) {
    numbers.gradient_scale = order.loss_scale / (static_cast<double>(order.batch) * stream.plan().request.tokens);
    numbers.seed = static_cast<std::uint64_t>(settings_.runconfig.seed);
    numbers.step = static_cast<std::uint64_t>(order.step);
  }
  losses_ = csx_pass(csx_, stream.plan(), stream.schedule(), numbers, batch_, *streams_);
}

void CsxRole::start_evaluation(std::int64_t first) {
  const std::int64_t batch_size = plans_.evaluate().plan.request.batch, samples = data_.evaluate->size();
  const auto part = [this, batch_size, samples](std::int64_t batch) -> std::optional<data::BatchPart> {
    if (batch * batch_size >= samples) return std::nullopt;
    data::BatchPart part{batch * batch_size, {}};
    for (const std::int64_t s : csx::Csx::samples(plans_.evaluate().plan, index_))
      if (part.first_position + s < samples) part.global_index.push_back(s);  // the last batch may be short
    return part;
  };
  eval_reader_.emplace(*data_.evaluate, data::Sampler(samples, false, 0), part, first, settings_.eval_input.prefetch_batches);
}

void CsxRole::report(RankReport& report) const {
  report.loss = losses_.loss;
  report.valid_tokens = losses_.valid_tokens;
  report.seconds.compute = csx_.compute_s();
  report.seconds.data = data_s_;
  report.seconds.wait = streams_->exposed_wait();
  report.arena_bytes = csx_.arena_bytes();
  if (!failure_) return;
  report.error = static_cast<std::int32_t>(failure_->code());
  std::strncpy(report.message, failure_->what(), sizeof report.message - 1);
}

}  // namespace wsc::train
