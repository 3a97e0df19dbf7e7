// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The checkpoints of a run directory. Functions take the run directory (runconfig.model_dir), not the folder below it.
namespace wsc::checkpoint {

enum class Status {
  complete,
  incomplete,  ///< ….partial, or without the marker: never loaded
  damaged,     ///< it was complete once (a file gets its name last of all) and cannot be opened any more
};

struct CheckpointFile {
  std::filesystem::path path;
  std::int64_t step = 0;
  Status status = Status::incomplete;
};

std::filesystem::path folder(const std::filesystem::path& run_dir);
std::filesystem::path file_path(const std::filesystem::path& run_dir, std::int64_t step);
/// The step in a name such as checkpoint_40.h5 (or …h5.partial); none for other names.
std::optional<std::int64_t> step_of(const std::filesystem::path& path);

/// All of them, partial ones included, by step. Looks at markers, not at values. Empty where there is no such folder.
std::vector<CheckpointFile> list(const std::filesystem::path& run_dir);

/// What a run resumes from. Incomplete files are passed over with a warning; a damaged one newer than all complete ones is a DataError
/// (going back silently would hide it). Looks into the folder, not at the pointer `latest`, which may be stale.
std::optional<CheckpointFile> newest_complete(const std::filesystem::path& run_dir);

/// Removes what saves of dead runs left behind; returns the names. Only for the owner of the run lock.
std::vector<std::filesystem::path> remove_partials(const std::filesystem::path& run_dir);

/// For a run that starts from an earlier checkpoint of its own directory: renames those of later steps to ….superseded, so that they are
/// not resumed from by mistake. Returns the old names. Only for the owner of the run lock.
std::vector<std::filesystem::path> set_aside_newer(const std::filesystem::path& run_dir, std::int64_t step);

}  // namespace wsc::checkpoint
