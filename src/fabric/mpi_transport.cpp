// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "mpi_window.hpp"

#include "wsc/fabric/ordered_reduction.hpp"
#include "wsc/fabric/threaded_channel.hpp"

namespace wsc::fabric {
namespace {

/// A request in flight. It stays where it is (MPI keeps no copy of the handle, nor do we) and is never freed early: MPI forbids that for
/// collectives.
class MpiPending final : public Pending {
 public:
  ~MpiPending() override { WSC_ASSERT(request == MPI_REQUEST_NULL); }
  bool done() override {
    int flag = 0;
    check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  }

  MPI_Request request = MPI_REQUEST_NULL;
};

/// The memoryx end of a reduction over few csx: all contributions on their way at once, added in the order of the csx.
class FlatReduction final : public Pending {
 public:
  FlatReduction(MPI_Comm comm, int contributions, float* sum, int count, ScratchPool& pool)
      : sum_(sum), count_(count), pool_(pool), requests_(static_cast<std::size_t>(contributions), MPI_REQUEST_NULL) {
    if (!pool_.empty()) {
      scratch_ = std::move(pool_.back());
      pool_.pop_back();
    }
    scratch_.resize(std::max(scratch_.size(), requests_.size() * static_cast<std::size_t>(count)));
    for (int i = 0; i < contributions; ++i) check(MPI_Irecv(part(i), count, MPI_FLOAT, i + 1, 0, comm, &requests_[i]), "MPI_Irecv");
  }
  ~FlatReduction() override {
    WSC_ASSERT(added_ == static_cast<int>(requests_.size()));
    pool_.push_back(std::move(scratch_));
  }

  bool done() override {
    for (; added_ < static_cast<int>(requests_.size()); ++added_) {
      int flag = 0;
      check(MPI_Test(&requests_[added_], &flag, MPI_STATUS_IGNORE), "MPI_Test");
      if (!flag) return false;
      const float* const from = part(added_);
      for (int e = 0; e < count_; ++e) sum_[e] += from[e];
    }
    return true;
  }

 private:
  float* part(int i) { return scratch_.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(count_); }

  float* sum_;
  int count_;
  ScratchPool& pool_;
  std::vector<float> scratch_;  // (contributions, count)
  std::vector<MPI_Request> requests_;
  int added_ = 0;  // contributions
};

/// The links of one shard's reductions: rank 0 of their communicator is the shard.
class MpiLinks final : public Links {
 public:
  explicit MpiLinks(MPI_Comm comm) : comm_(comm) {}

  std::unique_ptr<Pending> send(int to, const float* data, std::int64_t count, std::int64_t number) override {
    auto pending = std::make_unique<MpiPending>();
    check(MPI_Isend(data, static_cast<int>(count), MPI_FLOAT, to + 1, tag(number), comm_, &pending->request), "MPI_Isend");
    return pending;
  }
  std::unique_ptr<Pending> receive(int from, float* data, std::int64_t count, std::int64_t number) override {
    auto pending = std::make_unique<MpiPending>();
    check(MPI_Irecv(data, static_cast<int>(count), MPI_FLOAT, from + 1, tag(number), comm_, &pending->request), "MPI_Irecv");
    return pending;
  }

 private:
  // Every MPI library has 32768 tags; far fewer reductions are under way at once.
  static int tag(std::int64_t number) { return static_cast<int>(number % 32768); }

  MPI_Comm comm_;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(const Layout& layout, const ChannelSettings& settings)
      : layout_(layout), csx_per_window_(settings.csx_per_window), ordered_(settings.ordered) {}

  void open() override {
    int provided = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    try {
      if (provided < MPI_THREAD_FUNNELED) {
        throw SystemError("this MPI library does not grant MPI_THREAD_FUNNELED, which wsc needs: build or load one with thread support");
      }
      make_communicators();
    } catch (const SettingsError&) {
      check(MPI_Finalize(), "MPI_Finalize");  // all ranks come here, so all can leave in order
      throw;
    }
  }

  Rank rank() const override { return rank_; }

  std::unique_ptr<Pending> post(const Message& m) override {
    if (m.collective == Collective::reduce && ordered_) return reduce_in_order(m);
    if (m.collective == Collective::reduce && layout_.csx <= flat_limit) return reduce_flat(m);
    if (m.collective == Collective::make_window) return window_.allocate(m.bytes);
    if (m.collective == Collective::broadcast && !receives()) return window_.signs().follow(m.shard);
    auto pending = std::make_unique<MpiPending>();
    MPI_Request* const request = &pending->request;
    const int bytes = static_cast<int>(m.bytes);
    switch (m.collective) {
      case Collective::broadcast:
        check(MPI_Ibcast(m.data, bytes, MPI_BYTE, 0, down_[m.shard.index].get(), request), "MPI_Ibcast");
        break;
      case Collective::reduce:
        reduce_by_tree(m, request);
        break;
      case Collective::control_broadcast:
        check(MPI_Ibcast(m.data, bytes, MPI_BYTE, 0, control_.get(), request), "MPI_Ibcast");
        break;
      case Collective::control_gather:
        check(MPI_Igather(m.data, bytes, MPI_BYTE, m.gathered, bytes, MPI_BYTE, 0, control_.get(), request), "MPI_Igather");
        break;
      case Collective::make_window:
        WSC_EXPECT(false);
    }
    if (m.collective == Collective::broadcast && !layout_.is_memoryx(rank_)) return window_.signs().lead(m.shard, std::move(pending));
    return pending;
  }

  bool may_post(const Message& m) override {
    return m.collective != Collective::broadcast || layout_.is_memoryx(rank_) || window_.signs().all_released(m.releases);
  }
  bool receives() const override { return layout_.is_memoryx(rank_) || window_.signs().leads(); }
  void release() noexcept override { window_.signs().release(); }
  std::byte* window() const override { return window_.data(); }

  // Small messages count as sent once they are copied into a queue of the library, which moves only inside calls such as this one.
  void progress() override {
    int flag = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, control_.get(), &flag, MPI_STATUS_IGNORE), "MPI_Iprobe");
  }

  bool between_processes() const override { return true; }
  void halt() noexcept override {}  // this rank moves nothing while its fabric thread makes no call

  void close() override {
    if (!layout_.is_memoryx(rank_)) window_.close();
    control_.release();
    for (Communicator& c : down_) c.release();
    for (Communicator& c : up_) c.release();
    check(MPI_Finalize(), "MPI_Finalize");
  }

  void abort(int exit_code) noexcept override {
    std::fflush(nullptr);
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized && !finalized) MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  static int floats(const Message& m) { return static_cast<int>(m.bytes / static_cast<std::int64_t>(sizeof(float))); }

  // Up to so many csx the shard takes every contribution itself. On one node Open MPI 4.1's MPI_Ireduce costs all ranks together 2.7 s of
  // processor time per GB with 1 csx (a chain of 8 KiB pieces, each of which needs a turn of both ends) and 2.1 s with 2 (reduce-scatter,
  // then gather); this 0.5 s and 1.3 s. With more csx a tree takes load off the shard.
  static constexpr int flat_limit = 3;

  std::unique_ptr<Pending> reduce_flat(const Message& m) {
    MPI_Comm comm = up_[m.shard.index].get();
    if (layout_.is_memoryx(rank_)) {
      return std::make_unique<FlatReduction>(comm, layout_.csx, reinterpret_cast<float*>(m.data), floats(m), scratch_);
    }
    auto pending = std::make_unique<MpiPending>();
    check(MPI_Isend(m.data, floats(m), MPI_FLOAT, 0, 0, comm, &pending->request), "MPI_Isend");
    return pending;
  }

  std::unique_ptr<Pending> reduce_in_order(const Message& m) {
    const auto shard = static_cast<std::size_t>(m.shard.index);
    return ordered_reduction(links_[shard], layout_, rank_, m, reduced_[shard]++, scratch_);
  }

  // The shard contributes its own sum in place, so what arrives is added to it. The order of the additions depends on the number of csx
  // and the length of the message only.
  void reduce_by_tree(const Message& m, MPI_Request* request) {
    const bool root = layout_.is_memoryx(rank_);
    check(MPI_Ireduce(root ? MPI_IN_PLACE : m.data, root ? m.data : nullptr, floats(m), MPI_FLOAT, MPI_SUM, 0, up_[m.shard.index].get(),
                      request),
          "MPI_Ireduce");
  }

  void make_communicators() {
    int rank = 0, ranks = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
    if (ranks != layout_.ranks()) {
      throw SettingsError("cluster.memoryx=" + std::to_string(layout_.memoryx) + " and cluster.num_csx=" + std::to_string(layout_.csx) +
                          " need " + std::to_string(layout_.ranks()) + " ranks, but the launcher started " + std::to_string(ranks) +
                          ": start as many ranks, or change the two settings");
    }
    // Nodes with unequal numbers of ranks may each come to another default: all ranks would then hang in the splits below.
    int mine[2] = {layout_.memoryx, -layout_.memoryx}, least[2] = {};
    check(MPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
    if (least[0] != -least[1]) {
      throw SettingsError("the nodes run different numbers of ranks, so the ranks disagree about cluster.memoryx (between " +
                          std::to_string(least[0]) + " and " + std::to_string(-least[1]) + "): set cluster.memoryx");
    }
    rank_ = Rank(rank);
    MPI_Comm all = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
    control_ = Communicator(all);
    const bool memoryx = layout_.is_memoryx(rank_);
    Communicator csx = split(!memoryx);
    if (!memoryx) window_.open(csx, csx_per_window_, layout_.memoryx);
    csx.release();
    for (int m = 0; m < layout_.memoryx; ++m) {
      // Memoryx m as rank 0, then the csx that take part; none on the other memoryx ranks.
      const bool mine = layout_.shard(rank_) == ShardId(m);
      down_.push_back(split(memoryx ? mine : window_.signs().leads()));
      up_.push_back(split(!memoryx || mine));
      links_.emplace_back(up_.back().handle());
      reduced_.push_back(0);
    }
  }

  Communicator split(bool member) const {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_split(control_.get(), member ? 0 : MPI_UNDEFINED, rank_.index, &comm), "MPI_Comm_split");
    return Communicator(comm);
  }

  Layout layout_;
  int csx_per_window_;
  bool ordered_;
  Rank rank_;
  MpiWindow window_;  // of a csx
  Communicator control_;
  std::vector<Communicator> down_, up_;  // per shard: broadcasts, reductions
  std::vector<MpiLinks> links_;          // per shard
  std::vector<std::int64_t> reduced_;    // per shard: reductions posted so far
  ScratchPool scratch_;
};

}  // namespace

std::unique_ptr<Channel> make_mpi_channel(const Layout& layout, const ChannelSettings& settings) {
  return std::make_unique<ThreadedChannel>(std::make_unique<MpiTransport>(layout, settings), layout, settings);
}

}  // namespace wsc::fabric
