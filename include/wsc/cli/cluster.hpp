// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "wsc/config/settings.hpp"
#include "wsc/fabric/world.hpp"
#include "wsc/train/plans.hpp"

namespace wsc::cli {

/// Layout, fabric and threads of a run, from [cluster] and what the launcher says. `fabric` is "null", "mpi" or "loopback". Throws
/// SettingsError where they contradict each other.
struct ClusterPlan {
  std::string fabric;
  train::Setup setup;
};
ClusterPlan plan_cluster(const Settings& settings, const fabric::Launch& launch);

/// What one rank of the cluster does; the channel is null on the null fabric.
using Body = std::function<ExitCode(const train::Setup& setup, fabric::Channel* channel)>;

/// Starts Kokkos and the fabric, runs the body on every rank of this process, and ends them again in the right order. An Error of the
/// body is printed and ends all ranks.
ExitCode run_cluster(const Settings& settings, const Body& body);

}  // namespace wsc::cli
