// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "wsc/base/error.hpp"
#include "wsc/base/log.hpp"
#include "wsc/cli/kokkos_scope.hpp"
#include "wsc/fabric/leftovers.hpp"

namespace wsc::cli {
namespace {

std::string counts(std::int64_t memoryx, std::int64_t csx) {
  return std::to_string(memoryx) + " memoryx + " + std::to_string(csx) + " csx";
}

fabric::Layout launched_layout(const ClusterSettings& c, const fabric::Launch& launch) {
  const std::int64_t nodes = (launch.ranks + launch.local_ranks - 1) / launch.local_ranks;
  std::int64_t memoryx = c.memoryx, csx = c.num_csx;
  if (memoryx == 0) memoryx = csx > 0 ? launch.ranks - csx : std::min<std::int64_t>(nodes, launch.ranks - 1);
  if (csx == 0) csx = launch.ranks - memoryx;
  if (memoryx < 1 || csx < 1 || memoryx + csx != launch.ranks)
    throw SettingsError("the launcher started " + std::to_string(launch.ranks) + " ranks, but " + counts(c.memoryx, c.num_csx) +
                        " are asked for (cluster.memoryx, cluster.num_csx; 0 = auto). Start as many ranks as both together" +
                        (c.memoryx > 0 && c.num_csx > 0 ? ": mpirun -np " + std::to_string(c.memoryx + c.num_csx) : std::string()) + ".");
  return {static_cast<int>(memoryx), static_cast<int>(csx)};
}

int threads_of_csx(const ClusterSettings& c, const ClusterPlan& plan, const fabric::Launch& launch) {
  if (c.threads > 0) return static_cast<int>(c.threads);
  if (plan.fabric == "loopback") return 1;
  if (const char* given = std::getenv("OMP_NUM_THREADS"); given && std::atoi(given) > 0) return std::atoi(given);
  if (plan.fabric == "null") return cores_allowed();
  const fabric::Layout& layout = plan.setup.layout;
  const int csx_here = std::max(1, launch.local_ranks * layout.csx / layout.ranks());
  return std::max(1, cores_of_node() / csx_here);
}

void report_binding(int threads) {
  if (const int allowed = cores_allowed(); allowed < threads)
    log::warning_here("This rank may use " + std::to_string(allowed) + " of the node's " + std::to_string(cores_of_node()) +
                      " cores but has " + std::to_string(threads) +
                      " threads. Under a launcher start with `mpirun --bind-to none`; else set cluster.threads=" + std::to_string(allowed) +
                      ".");
}

}  // namespace

ClusterPlan plan_cluster(const Settings& settings, const fabric::Launch& launch) {
  const ClusterSettings& c = settings.cluster;
  ClusterPlan plan;
  plan.fabric = c.fabric != "auto" ? c.fabric : launch.ranks > 1 ? "mpi" : "null";
  if (plan.fabric == "mpi") {
    if (launch.ranks < 2)
      throw SettingsError("cluster.fabric=mpi needs a launcher: mpirun -np " +
                          std::to_string(std::max<std::int64_t>(c.memoryx, 1) + std::max<std::int64_t>(c.num_csx, 1)) + " wsc train …");
    plan.setup.layout = launched_layout(c, launch);
  } else {
    if (launch.ranks > 1)
      throw SettingsError("cluster.fabric=" + plan.fabric + " is one process, but the launcher started " + std::to_string(launch.ranks) +
                          " ranks.");
    plan.setup.layout = {static_cast<int>(std::max<std::int64_t>(c.memoryx, 1)), static_cast<int>(std::max<std::int64_t>(c.num_csx, 1))};
    if (plan.fabric == "null" && plan.setup.layout.ranks() > 2)
      throw SettingsError(counts(c.memoryx, c.num_csx) + " ranks are asked for, but this is one process. Start it with mpirun -np " +
                          std::to_string(plan.setup.layout.ranks()) + ", or try cluster.fabric=loopback.");
  }
  plan.setup.streamed = plan.fabric != "null";
  plan.setup.threads = threads_of_csx(c, plan, launch);
  return plan;
}

ExitCode run_cluster(const Settings& settings, const Body& body) {
  const fabric::Launch launch = fabric::launch_from_environment();
  const ClusterPlan plan = plan_cluster(settings, launch);
  const fabric::ChannelSettings channel_settings{settings.cluster.chunk_bytes, static_cast<int>(settings.cluster.messages_in_flight),
                                                 static_cast<int>(settings.cluster.csx_per_window), settings.cluster.ordered()};
  if (plan.fabric == "null") {
    report_binding(plan.setup.threads);
    const KokkosScope kokkos(plan.setup.threads);
    return body(plan.setup, nullptr);
  }
  if (plan.fabric == "loopback") {
    const KokkosScope kokkos(plan.setup.threads);
    ExitCode code = ExitCode::ok;
    fabric::run_loopback(plan.setup.layout, channel_settings, [&](fabric::Channel& channel) {
      const ExitCode mine = body(plan.setup, &channel);
      if (channel.rank().index == 0) code = mine;
    });
    return code;
  }
  if (const int removed = fabric::remove_leftovers("/dev/shm", std::chrono::minutes(1)); removed > 0)
    log::info("Removed " + std::to_string(removed) + " shared-memory files that runs killed with their launcher left in /dev/shm.");
  // MPI is older than Kokkos and outlives it; the fabric thread ends MPI when the channel goes.
  const auto channel = fabric::make_mpi_channel(plan.setup.layout, channel_settings);
  const bool memoryx = plan.setup.layout.is_memoryx(channel->rank());
  const int threads = memoryx ? 1 : plan.setup.threads;
  if (channel->rank() == plan.setup.layout.rank(fabric::CsxId(0))) report_binding(threads);  // the others are bound alike
  ExitCode code = ExitCode::ok;
  try {
    fabric::guarded(channel.get(), [&] {
      const KokkosScope kokkos(threads);
      code = body(plan.setup, channel.get());
    });
  } catch (const fabric::AgreedStop& stop) {
    code = stop.code();  // every rank is here: MPI ends in good order
  }
  return code;
}

}  // namespace wsc::cli
