// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>

#include "mpi_call.hpp"

#include "wsc/fabric/window_signs.hpp"

namespace wsc::fabric {

/// The weight window of a csx between processes: one piece of memory per group of csx on one node. Every call is collective over the
/// group. A csx that shares with nobody has ordinary memory.
class MpiWindow {
 public:
  /// Groups of at most `csx_per_window` of a node's csx, in rank order; 0 = all of them, where the node's shared memory is not tiny.
  void open(const Communicator& all_csx, int csx_per_window, int shards);
  void close();

  WindowSigns& signs() { return *signs_; }
  const WindowSigns& signs() const { return *signs_; }
  /// Begins to make room for so many bytes, larger than before; complete when all of the group are there. What was there is lost.
  std::unique_ptr<Pending> allocate(std::int64_t bytes);
  std::byte* data() const { return window_.data; }  ///< aligned to 64 bytes

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  /// Memory that all of the group see.
  struct Memory {
    MPI_Win window = MPI_WIN_NULL;         // where several share it
    std::unique_ptr<std::byte, Free> own;  // else
    std::byte* data = nullptr;
  };
  class Allocation;

  Memory memory(std::int64_t bytes) const;
  static void give_back(Memory& memory);
  void allocate_now(std::int64_t bytes);

  Communicator group_;
  int members_ = 1, member_ = 0;
  Memory signs_memory_, window_;
  std::optional<WindowSigns> signs_;
  std::int64_t bytes_ = 0;
};

}  // namespace wsc::fabric
