// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "wsc/fabric/world.hpp"

namespace wsc::fabric {
namespace {

std::optional<int> number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 0) return std::nullopt;
  return static_cast<int>(value);
}

/// SLURM_STEP_TASKS_PER_NODE counts runs of nodes: "4(x2),3" is 4, 4, 3.
std::optional<int> slurm_local_tasks() {
  const char* list = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  std::optional<int> node = number("SLURM_NODEID");
  if (list == nullptr || !node) return std::nullopt;
  const char* at = list;
  while (*at != '\0') {
    char* end = nullptr;
    const long tasks = std::strtol(at, &end, 10);
    if (end == at) return std::nullopt;
    long repeat = 1;
    if (end[0] == '(' && end[1] == 'x') {
      repeat = std::strtol(end + 2, &end, 10);
      if (*end == ')') ++end;
    }
    if (*node < repeat) return static_cast<int>(tasks);
    *node -= static_cast<int>(repeat);
    at = *end == ',' ? end + 1 : end;
    if (at == end && *end != '\0') return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

// Slurm's own variables exist in a batch script outside any job step too, where a program runs alone: they count only beside those of
// the process manager that MPI will talk to.
Launch launch_from_environment() {
  if (const auto rank = number("OMPI_COMM_WORLD_RANK"), ranks = number("OMPI_COMM_WORLD_SIZE"); rank && ranks) {
    return {*rank, *ranks, number("OMPI_COMM_WORLD_LOCAL_SIZE").value_or(1)};
  }
  const auto pmi = number("PMI_RANK"), pmix = number("PMIX_RANK");
  if (!pmi && !pmix) return {};
  const auto ranks = number("PMI_SIZE") ? number("PMI_SIZE") : number("SLURM_STEP_NUM_TASKS");
  if (!ranks) return {};
  const auto local = number("MPI_LOCALNRANKS") ? number("MPI_LOCALNRANKS") : slurm_local_tasks();
  return {pmi ? *pmi : *pmix, *ranks, local.value_or(1)};
}

}  // namespace wsc::fabric
