// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi_window.hpp"

#include <algorithm>
#include <new>

#include <sys/statvfs.h>

#include "wsc/base/format.hpp"

namespace wsc::fabric {
namespace {

constexpr std::int64_t alignment = 64;
constexpr const char* shared_memory = "/dev/shm";  // where MPI libraries on Linux keep their windows

/// Files in memory have no room of their own: a write beyond it would kill the process without a word. −1 = cannot be told.
std::int64_t shared_memory_left() {
  struct statvfs s {};
  return statvfs(shared_memory, &s) == 0 ? static_cast<std::int64_t>(s.f_bavail) * static_cast<std::int64_t>(s.f_frsize) : -1;
}

Communicator split(MPI_Comm from, int color, int key) {
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_split(from, color, key, &comm), "MPI_Comm_split");
  return Communicator(comm);
}

int rank_in(const Communicator& comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm.get(), &rank), "MPI_Comm_rank");
  return rank;
}

int size_of(const Communicator& comm) {
  int size = 0;
  check(MPI_Comm_size(comm.get(), &size), "MPI_Comm_size");
  return size;
}

/// Containers often have 64 MB of shared memory, less than most windows need.
bool worth_sharing(const Communicator& node) {
  constexpr std::int64_t tiny = std::int64_t{1} << 30;
  const std::int64_t left = shared_memory_left();
  int mine = left < 0 || left >= tiny ? 1 : 0, all = 0;
  check(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, node.get()), "MPI_Allreduce");
  return all == 1;
}

}  // namespace

/// Nobody blocks inside the library until all are there.
class MpiWindow::Allocation final : public Pending {
 public:
  Allocation(MpiWindow& window, std::int64_t bytes) : window_(window), bytes_(bytes) {
    check(MPI_Ibarrier(window.group_.get(), &barrier_), "MPI_Ibarrier");
  }
  bool done() override {
    int flag = 0;
    check(MPI_Test(&barrier_, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag) window_.allocate_now(bytes_);
    return flag != 0;
  }

 private:
  MpiWindow& window_;
  std::int64_t bytes_;
  MPI_Request barrier_ = MPI_REQUEST_NULL;
};

void MpiWindow::open(const Communicator& all_csx, int csx_per_window, int shards) {
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_split_type(all_csx.get(), MPI_COMM_TYPE_SHARED, rank_in(all_csx), MPI_INFO_NULL, &comm), "MPI_Comm_split_type");
  Communicator node(comm);
  const int most = csx_per_window > 0 ? csx_per_window : worth_sharing(node) ? size_of(node) : 1;
  group_ = split(node.get(), rank_in(node) / most, rank_in(node));
  node.release();
  members_ = size_of(group_);
  member_ = rank_in(group_);
  signs_memory_ = memory(static_cast<std::int64_t>(WindowSigns::bytes(members_, shards)));
  if (member_ == 0) WindowSigns::make(signs_memory_.data, members_, shards);
  check(MPI_Barrier(group_.get()), "MPI_Barrier");
  signs_.emplace(signs_memory_.data, members_, shards, member_);
}

MpiWindow::Memory MpiWindow::memory(std::int64_t bytes) const {
  Memory s;
  if (members_ == 1) {
    s.own.reset(
        static_cast<std::byte*>(std::aligned_alloc(alignment, static_cast<std::size_t>((bytes + alignment - 1) / alignment * alignment))));
    if (!s.own) throw std::bad_alloc();
    s.data = s.own.get();
    return s;
  }
  void* base = nullptr;
  const MPI_Aint mine = member_ == 0 ? static_cast<MPI_Aint>(bytes + alignment) : 0;
  check(MPI_Win_allocate_shared(mine, 1, MPI_INFO_NULL, group_.get(), &base, &s.window), "MPI_Win_allocate_shared");
  check(MPI_Win_set_errhandler(s.window, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  MPI_Aint size = 0;
  int unit = 0;
  check(MPI_Win_shared_query(s.window, 0, &size, &unit, &base), "MPI_Win_shared_query");
  check(MPI_Win_lock_all(MPI_MODE_NOCHECK, s.window), "MPI_Win_lock_all");  // plain loads and stores are allowed from here on
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(base);
  s.data = static_cast<std::byte*>(base) + (alignment - at % alignment) % alignment;  // pages begin alike in all processes
  return s;
}

void MpiWindow::give_back(Memory& memory) {
  if (memory.window != MPI_WIN_NULL) {
    check(MPI_Win_unlock_all(memory.window), "MPI_Win_unlock_all");
    check(MPI_Win_free(&memory.window), "MPI_Win_free");
  }
  memory = {};
}

std::unique_ptr<Pending> MpiWindow::allocate(std::int64_t bytes) { return std::make_unique<Allocation>(*this, bytes); }

void MpiWindow::allocate_now(std::int64_t bytes) {
  if (bytes <= bytes_) return;
  bytes_ = bytes;
  give_back(window_);  // the old one goes before the new one comes
  if (const std::int64_t left = shared_memory_left(); members_ > 1 && left >= 0 && left < bytes)
    throw SystemError("the csx of this node share a weight window of " + bytes_text(static_cast<double>(bytes)) + ", but " + shared_memory +
                      " has room for " + bytes_text(static_cast<double>(left)) +
                      ": give it more (mount -o remount,size=…; containers: --shm-size), or set cluster.csx_per_window=1");
  window_ = memory(bytes);
}

void MpiWindow::close() {
  give_back(window_);
  give_back(signs_memory_);
  group_.release();
}

}  // namespace wsc::fabric
