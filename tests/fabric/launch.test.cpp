// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "wsc/fabric/world.hpp"

namespace wsc::fabric {
namespace {

constexpr const char* variables[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_RANK",    "PMI_RANK",     "PMI_SIZE",
    "MPI_LOCALNRANKS",      "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE",  "SLURM_NODEID", "SLURM_NTASKS", "SLURM_PROCID"};

Launch launch_with(const std::map<std::string, std::string>& environment) {
  for (const char* name : variables) unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  const Launch launch = launch_from_environment();
  for (const char* name : variables) unsetenv(name);
  return launch;
}

void expect(const Launch& got, int rank, int ranks, int local_ranks) {
  EXPECT_EQ(got.rank, rank);
  EXPECT_EQ(got.ranks, ranks);
  EXPECT_EQ(got.local_ranks, local_ranks);
}

TEST(Launch, OneProcessWithoutALauncher) { expect(launch_with({}), 0, 1, 1); }

TEST(Launch, Mpirun) {
  expect(launch_with({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}), 3, 8, 4);
}

TEST(Launch, SrunWithPmixCountsTheTasksOfItsNode) {
  std::map<std::string, std::string> e = {{"PMIX_RANK", "9"}, {"SLURM_STEP_NUM_TASKS", "11"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}};
  for (const auto& [node, tasks] : std::map<std::string, int>{{"0", 4}, {"1", 4}, {"2", 3}, {"3", 1}}) {
    e["SLURM_NODEID"] = node;
    expect(launch_with(e), 9, 11, tasks);
  }
}

TEST(Launch, Pmi) { expect(launch_with({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}}), 1, 2, 2); }

TEST(Launch, ABatchScriptOutsideOfAStepIsOneProcess) {
  expect(launch_with({{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}, {"SLURM_NODEID", "0"}}), 0, 1, 1);
}

TEST(Launch, NonsenseIsNoLauncher) { expect(launch_with({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "8"}}), 0, 1, 1); }

}  // namespace
}  // namespace wsc::fabric
