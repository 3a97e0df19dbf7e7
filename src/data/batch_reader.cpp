// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/batch_reader.hpp"

#include <utility>

#include "wsc/base/error.hpp"
#include "wsc/base/trace.hpp"

namespace wsc::data {

BatchReader::BatchReader(const Dataset& dataset, const Sampler& sampler, Source source, std::int64_t first_step,
                         std::int64_t prefetch_batches)
    : dataset_(dataset),
      sampler_(sampler),
      source_(std::move(source)),
      step_(first_step),
      prefetch_batches_(static_cast<std::size_t>(prefetch_batches)) {
  WSC_EXPECT(prefetch_batches >= 0 && sampler.samples() == dataset.size());
  if (prefetch_batches > 0)
    thread_ = std::thread([this, rank = trace::this_rank()] {
      trace::set_thread(rank, "reader");
      run();
    });
}

BatchReader::~BatchReader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

BatchReader::Item BatchReader::read(std::int64_t step) const noexcept {
  const trace::Span span("read batch", nullptr, step);
  try {
    std::optional<BatchPart> part = source_(step);
    if (!part) return {};
    const std::int64_t samples = static_cast<std::int64_t>(part->global_index.size());
    Batch batch(samples, dataset_.sequence_length(), dataset_.has_spans(), dataset_.has_positions());
    batch.step = step;
    batch.first_position = part->first_position;
    for (std::int64_t i = 0; i < samples; ++i) {
      const std::int64_t position = part->first_position + part->global_index[static_cast<std::size_t>(i)];
      dataset_.read(sampler_.sample(position), batch.rows(i), sampler_.window_shift(position, dataset_.sequence_length()));
    }
    batch.global_index = std::move(part->global_index);
    return {std::move(batch), nullptr};
  } catch (...) {
    return {std::nullopt, std::current_exception()};
  }
}

void BatchReader::run() {
  for (bool go_on = true; go_on;) {
    Item item = read(step_++);
    go_on = !item.last();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || items_.size() < prefetch_batches_; });
    if (stop_) return;
    items_.push_back(std::move(item));
    changed_.notify_all();
  }
}

std::optional<Batch> BatchReader::next() {
  if (prefetch_batches_ == 0) {
    Item item = read(step_);
    if (item.error) std::rethrow_exception(item.error);
    if (!item.last()) ++step_;
    return std::move(item.batch);
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !items_.empty(); });
  if (items_.front().error) std::rethrow_exception(items_.front().error);  // stays: a caller that tries again gets it again
  if (items_.front().last()) return std::nullopt;
  std::optional<Batch> batch = std::move(items_.front().batch);
  items_.pop_front();
  changed_.notify_all();
  return batch;
}

}  // namespace wsc::data
