// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "wsc/data/batch.hpp"
#include "wsc/data/dataset.hpp"
#include "wsc/data/sampler.hpp"

namespace wsc::data {

/// Batches of this rank, step after step, read ahead by a thread of its own. What is read depends only on the source: the same with
/// any number of batches ahead, and from any first step.
class BatchReader {
 public:
  /// What this rank reads at a step; nothing ends the sequence. Called by the reader thread, steps in order.
  using Source = std::function<std::optional<BatchPart>(std::int64_t step)>;

  /// `dataset` outlives the reader. `prefetch_batches`: batches that wait at most; 0 = read by next() itself, no thread.
  BatchReader(const Dataset& dataset, const Sampler& sampler, Source source, std::int64_t first_step, std::int64_t prefetch_batches);
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  /// The next step's batch; nothing after the last. An error of the reader thread is thrown here, at the step that it belongs to.
  std::optional<Batch> next();

 private:
  struct Item {
    std::optional<Batch> batch;
    std::exception_ptr error;
    bool last() const { return !batch; }
  };

  Item read(std::int64_t step) const noexcept;
  void run();

  const Dataset& dataset_;
  Sampler sampler_;
  Source source_;
  std::int64_t step_;  ///< next to be read
  std::size_t prefetch_batches_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace wsc::data
