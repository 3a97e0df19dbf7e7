// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/kokkos_scope.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <Kokkos_Core.hpp>
#include <sched.h>

namespace wsc::cli {

KokkosScope::KokkosScope(int threads) {
  setenv("OMP_PROC_BIND", "false", 0);  // several ranks of a node must not pin their threads to the same cores
  Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(threads).set_disable_warnings(true));
}

KokkosScope::~KokkosScope() { Kokkos::finalize(); }

int cores_of_node() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

int cores_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : cores_of_node();
}

}  // namespace wsc::cli
