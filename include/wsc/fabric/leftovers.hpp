// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace wsc::fabric {

/// Open MPI keeps one shared-memory file per rank ("vader_segment.<host>.<uid>.<job>.<rank>", from version 5 on "sm_segment…") and
/// removes it at the end; mpirun removes those of killed ranks. Where mpirun itself was killed they stay, until /dev/shm is full.
/// Removes the files of this kind in `directory` that belong to this user and host, that no living process has mapped and that are older
/// than `age` (younger ones may belong to a job that is just starting). Returns how many; errors are not fatal and not reported.
int remove_leftovers(const std::filesystem::path& directory, std::chrono::seconds age);

}  // namespace wsc::fabric
