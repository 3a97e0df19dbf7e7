// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include "wsc/base/format.hpp"
#include "wsc/cli/command.hpp"
#include "wsc/cli/versions.hpp"
#include "wsc/fabric/world.hpp"

namespace wsc::cli {

/// What one process sees; under a launcher every rank prints its line. No MPI is started, so it works where MPI does not.
ExitCode doctor(Arguments arguments) {
  expect_no_more(arguments, "doctor");
  const fabric::Launch launch = fabric::launch_from_environment();
  if (launch.rank == 0) std::printf("%s", versions().c_str());
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int c = 0; c < CPU_SETSIZE; ++c)
      if (CPU_ISSET(c, &set)) cores += (cores.empty() ? "" : ",") + std::to_string(c);
  const char* threads = std::getenv("OMP_NUM_THREADS");
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  std::printf("rank %d of %d on %s (%d of this job here): may use cores %s of %u, memory %s, OMP_NUM_THREADS %s\n", launch.rank,
              launch.ranks, host, launch.local_ranks, cores.c_str(), std::thread::hardware_concurrency(), bytes_text(memory).c_str(),
              threads ? threads : "unset");
  if (launch.ranks > 1 && CPU_COUNT(&set) < static_cast<int>(std::thread::hardware_concurrency()) && launch.rank == 0)
    std::printf("note: the launcher binds ranks to cores. Start with `mpirun --bind-to none` unless each rank's threads fit its cores.\n");
  std::fflush(stdout);
  return ExitCode::ok;
}

}  // namespace wsc::cli
