// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/saves.hpp"

#include <algorithm>
#include <chrono>

#include "wsc/base/format.hpp"
#include "wsc/base/log.hpp"
#include "wsc/base/process.hpp"

namespace wsc::train {

Saves::Saves(Member& member, const RunSettings& settings, std::int64_t last_step)
    : member_(member), settings_(settings), last_step_(last_step) {}

Saves::~Saves() {
  if (under_way_ && !under_way_->finished.valid()) checkpoint::discard(under_way_->file.path);
}

template <class Body>
void Saves::or_discard(const Body& body) {
  try {
    body();
  } catch (...) {
    checkpoint::discard(under_way_->file.path);
    under_way_.reset();
    throw;
  }
}

void Saves::open(const PassOrder& order, const checkpoint::RunState& state) {
  complete();
  const Stopwatch watch;
  // Created, with its space reserved, before any rank hears of it: a full disk stops here and costs nothing.
  under_way_.emplace(alone([&] { return checkpoint::create_partial(settings_.model_dir, member_.graph(), state); }), state.step, watch,
                     std::future<Finished>());
  or_discard([&] {
    member_.control().from_leader(order);
    member_.open_save(order, under_way_->file);
  });
}

void Saves::advance(const std::vector<RankReport>& reports) {
  if (!under_way_) return;
  if (under_way_->finished.valid()) {
    if (under_way_->finished.wait_for(std::chrono::seconds(0)) == std::future_status::ready) conclude();
  } else if (std::none_of(reports.begin(), reports.end(), [](const RankReport& r) { return r.saving; })) {
    collect();
  }
}

void Saves::complete() {
  if (!under_way_) return;
  if (!under_way_->finished.valid()) collect();
  conclude();
}

/// Ranks that still write do so to the end, however long it takes.
void Saves::collect() {
  or_discard([&] {
    PassOrder order;
    order.kind = PassKind::collect_save;
    member_.control().from_leader(order);
    auto finish = [file = under_way_->file, checksums = member_.collect_save(), &graph = member_.graph(), keep = settings_.keep_checkpoints,
                   watch = under_way_->watch] {
      lower_priority_of_thread();
      const std::filesystem::path path = checkpoint::finish(file, graph, checksums, {.keep = keep});
      return Finished{path, watch.seconds(), static_cast<double>(std::filesystem::file_size(path))};
    };
    under_way_->finished = std::async(std::launch::async, std::move(finish));
  });
}

void Saves::conclude() {
  or_discard([&] {
    const Finished f = alone([&] { return under_way_->finished.get(); });
    log::info(printf_text("Saved checkpoint %s at step %lld in %.2f s: %s, %.0f MB/s.", f.path.c_str(),
                          static_cast<long long>(under_way_->step), f.seconds, bytes_text(f.bytes).c_str(), f.bytes / f.seconds / 1e6));
  });
  last_step_ = under_way_->step;
  under_way_.reset();
}

}  // namespace wsc::train
