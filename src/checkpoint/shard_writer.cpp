// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/checkpoint/shard_writer.hpp"

#include <algorithm>

#include "format.hpp"
#include "posix_file.hpp"
#include <fcntl.h>

#include "wsc/base/checksum.hpp"
#include "wsc/base/process.hpp"

namespace wsc::checkpoint {
namespace {

/// Of each array: 512 KB stay in a cache while they are checked, summed up and copied.
constexpr std::int64_t unit_elements = 1 << 17;

}  // namespace

ShardWriter::ShardWriter(const SaveFile& file, const Graph& graph, const std::vector<Piece>& pieces)
    : file_(file), graph_(graph), out_(std::make_unique<PosixFile>(file.path, O_WRONLY)), first_unit_(graph.params.size()) {
  for (const Piece& piece : pieces) {
    WSC_EXPECT(static_cast<std::int64_t>(piece.weight.size()) == piece.end - piece.begin && piece.end <= graph[piece.param].elements());
    first_unit_[static_cast<std::size_t>(piece.param.index)] = units_.size();
    for (std::int64_t begin = piece.begin; begin < piece.end; begin += unit_elements) {
      const std::int64_t n = std::min(unit_elements, piece.end - begin);
      Piece part{piece.param, begin, begin + n, piece.weight.subspan(begin - piece.begin, n), {}};
      for (const std::span<float>& state : piece.states) part.states.push_back(state.subspan(begin - piece.begin, n));
      units_.push_back({std::move(part), n});
    }
  }
  unwritten_ = units_.size();
  thread_ = std::thread([this] { run(); });
}

ShardWriter::~ShardWriter() {
  {
    const Lock lock(mutex_);
    give_up_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::span<ShardWriter::Unit> ShardWriter::units_of(ParamId param, std::int64_t begin, std::int64_t end) {
  const std::size_t first = first_unit_.at(static_cast<std::size_t>(param.index));
  const std::int64_t origin = units_.at(first).piece.begin;
  const std::size_t from = first + (begin - origin) / unit_elements, to = first + (end - 1 - origin) / unit_elements + 1;
  WSC_EXPECT(origin <= begin && begin < end && to <= units_.size() && units_[to - 1].piece.param == param);
  return std::span(units_).subspan(from, to - from);
}

void ShardWriter::readable(ParamId param, std::int64_t begin, std::int64_t end) {
  const Lock lock(mutex_);
  for (Unit& unit : units_of(param, begin, end)) {
    unit.missing -= std::min(end, unit.piece.end) - std::max(begin, unit.piece.begin);
    WSC_EXPECT(unit.missing >= 0);
    if (unit.missing > 0) continue;
    unit.state = State::readable;
    queue_.push_back(&unit);
    changed_.notify_all();
  }
}

void ShardWriter::release(ParamId param, std::int64_t begin, std::int64_t end) {
  Lock lock(mutex_);
  for (Unit& unit : units_of(param, begin, end)) {
    WSC_EXPECT(unit.state != State::waiting);
    if (unit.state == State::readable) take(unit, lock);
    changed_.wait(lock, [&] { return unit.state == State::written; });
  }
}

/// Writes a readable unit, without the lock meanwhile. After a failure nothing is written any more, and nobody waits.
void ShardWriter::take(Unit& unit, Lock& lock) {
  unit.state = State::taken;
  if (!failure_) {
    std::vector<PieceChecksum> sums;
    std::exception_ptr failure;
    lock.unlock();
    try {
      sums = write(unit.piece);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!failure_) failure_ = failure;
    checksums_.insert(checksums_.end(), sums.begin(), sums.end());
  }
  unit.state = State::written;
  --unwritten_;
  changed_.notify_all();
}

std::vector<PieceChecksum> ShardWriter::write(const Piece& piece) const {
  const Param& param = graph_[piece.param];
  std::vector<PieceChecksum> sums;
  for (std::size_t array = 0; array <= piece.states.size(); ++array) {
    const std::span<const float> values = array == 0 ? piece.weight : piece.states[array - 1];
    if (!format::all_finite(values)) {
      throw NumericalError(file_.path.string() + ": not saved, because " + (array == 0 ? "the weight" : "the optimizer state") + " of " +
                           param.name + " has values that are not finite. Earlier checkpoints are intact");
    }
    Checksum sum;
    sum.add(values.data(), values.size_bytes());
    const std::size_t place = array * graph_.params.size() + static_cast<std::size_t>(piece.param.index);
    out_->write_at(values.data(), values.size_bytes(), file_.offsets.at(place) + piece.begin * static_cast<std::int64_t>(sizeof(float)));
    sums.push_back({static_cast<std::int32_t>(array), piece.param, piece.begin, piece.end, sum.value()});
  }
  return sums;
}

void ShardWriter::run() {
  lower_priority_of_thread();
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return give_up_ || !queue_.empty() || unwritten_ == 0; });
    if (give_up_) return;
    if (queue_.empty()) break;
    Unit& unit = *queue_.front();
    queue_.pop_front();
    if (unit.state == State::readable) take(unit, lock);
  }
  if (!failure_) {
    lock.unlock();
    std::exception_ptr failure;
    try {
      out_->sync();
      out_->close();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
  }
  done_ = true;
  changed_.notify_all();
}

bool ShardWriter::done() const {
  const Lock lock(mutex_);
  return done_ || failure_;
}

std::vector<PieceChecksum> ShardWriter::finish() {
  Lock lock(mutex_);
  for (Unit& unit : units_) {
    WSC_EXPECT(unit.state != State::waiting);
    if (unit.state == State::readable) take(unit, lock);
  }
  changed_.wait(lock, [this] { return done_; });
  if (failure_) std::rethrow_exception(failure_);
  return checksums_;
}

}  // namespace wsc::checkpoint
