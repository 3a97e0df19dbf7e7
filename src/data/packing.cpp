// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/packing.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"

namespace wsc::data {

namespace {

using Ids = std::span<const std::int32_t>;

/// Calls `use` with pieces of at most T + 1 tokens at stride T; a piece has at least two.
template <class Use>
void for_each_piece(Ids sequence, std::int64_t T, Use use) {
  const std::int64_t n = static_cast<std::int64_t>(sequence.size());
  for (std::int64_t at = 0; at + 1 < n; at += T) {
    use(sequence.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(std::min(T + 1, n - at))));
  }
}

/// A sample being filled, (3 or 5, T).
class Sample {
 public:
  Sample(std::int64_t T, std::int64_t rows, std::int32_t pad_id) : T_(T), values_(static_cast<std::size_t>(rows * T), 0) {
    std::fill_n(row(0), T, pad_id);
    std::fill_n(row(2), T, pad_id);
  }

  std::int64_t room() const { return T_ - used_; }  ///< positions
  Ids values() const { return values_; }

  /// Input tokens, labels and mask of a piece of room() + 1 tokens at most.
  void append(Ids piece) {
    const std::int64_t n = static_cast<std::int64_t>(piece.size()) - 1;
    WSC_EXPECT(n >= 1 && n <= room());
    std::copy_n(piece.begin(), n, row(0) + used_);
    std::fill_n(row(1) + used_, n, 1);
    std::copy_n(piece.begin() + 1, n, row(2) + used_);
    if (static_cast<std::int64_t>(values_.size()) == 5 * T_) {
      for (std::int64_t i = 0; i < n; ++i) {
        row(3)[used_ + i] = static_cast<std::int32_t>(n - 1 - i);
        row(4)[used_ + i] = static_cast<std::int32_t>(i);
      }
    }
    used_ += n;
  }

 private:
  std::int32_t* row(std::int64_t r) { return values_.data() + r * T_; }

  std::int64_t T_, used_ = 0;
  std::vector<std::int32_t> values_;
};

class StreamPacker final : public Packer {
 public:
  StreamPacker(std::int64_t T, std::int32_t pad_id, Emit emit) : T_(T), pad_id_(pad_id), emit_(std::move(emit)) {}

  void add(Ids document) override {
    pending_.insert(pending_.end(), document.begin(), document.end());
    std::size_t at = 0;
    for (; pending_.size() - at > static_cast<std::size_t>(T_); at += static_cast<std::size_t>(T_)) put(Ids(pending_).subspan(at, T_ + 1));
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void finish() override {
    if (pending_.size() > 1) put(pending_);
    pending_.clear();
  }

 private:
  void put(Ids piece) {
    Sample sample(T_, 3, pad_id_);
    sample.append(piece);
    emit_(sample.values());
  }

  std::int64_t T_;
  std::int32_t pad_id_;
  Emit emit_;
  std::vector<std::int32_t> pending_;  ///< from the last token that has been predicted
};

class PaddingPacker final : public Packer {
 public:
  PaddingPacker(std::int64_t T, std::int32_t pad_id, Emit emit) : T_(T), pad_id_(pad_id), emit_(std::move(emit)) {}

  void add(Ids document) override {
    for_each_piece(document, T_, [&](Ids piece) {
      Sample sample(T_, 3, pad_id_);
      sample.append(piece);
      emit_(sample.values());
    });
  }
  void finish() override {}

 private:
  std::int64_t T_;
  std::int32_t pad_id_;
  Emit emit_;
};

class VslPacker final : public Packer {
 public:
  VslPacker(std::int64_t T, std::int32_t pad_id, Emit emit) : T_(T), pad_id_(pad_id), emit_(std::move(emit)) {}

  void add(Ids document) override {
    for_each_piece(document, T_, [&](Ids piece) { place(piece); });
  }

  void finish() override {
    for (const Sample& s : open_) emit_(s.values());
    open_.clear();
  }

 private:
  static constexpr std::size_t most_open = 64;

  void place(Ids piece) {
    const std::int64_t positions = static_cast<std::int64_t>(piece.size()) - 1;
    auto fit = std::find_if(open_.begin(), open_.end(), [&](const Sample& s) { return s.room() >= positions; });
    if (fit == open_.end()) {
      if (open_.size() == most_open) {
        emit_(open_.front().values());
        open_.pop_front();
      }
      fit = open_.emplace(open_.end(), T_, 5, pad_id_);
    }
    fit->append(piece);
    if (fit->room() > 0) return;
    emit_(fit->values());
    open_.erase(fit);
  }

  std::int64_t T_;
  std::int32_t pad_id_;
  Emit emit_;
  std::list<Sample> open_;  ///< oldest first
};

}  // namespace

std::unique_ptr<Packer> stream_packer(std::int64_t T, std::int32_t pad_id, Packer::Emit emit) {
  return std::make_unique<StreamPacker>(T, pad_id, std::move(emit));
}
std::unique_ptr<Packer> padding_packer(std::int64_t T, std::int32_t pad_id, Packer::Emit emit) {
  return std::make_unique<PaddingPacker>(T, pad_id, std::move(emit));
}
std::unique_ptr<Packer> vsl_packer(std::int64_t T, std::int32_t pad_id, Packer::Emit emit) {
  return std::make_unique<VslPacker>(T, pad_id, std::move(emit));
}

}  // namespace wsc::data
