// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "wsc/checkpoint/pieces.hpp"
#include "wsc/checkpoint/run_state.hpp"

/// Saving, without MPI; the roles drive it. Rank 0 creates the file, every shard writes its pieces into it (shard_writer.hpp), rank 0
/// finishes it. Until the rename at the very end the file is called ….partial and no reader looks at it; where any rank fails, rank 0
/// discards it. Earlier checkpoints are never touched before the new one is safe on disk.
namespace wsc::checkpoint {

/// A file under construction.
struct SaveFile {
  std::filesystem::path path;         ///< <run directory>/checkpoints/checkpoint_<step>.h5.partial
  std::vector<std::int64_t> offsets;  ///< bytes into the file, one per array and parameter: [array · parameters + parameter]
};

/// Creates the file with everything in it but values and checksums, and reserves its space. Rank 0 only.
/// SystemError: full disk (says the bytes needed and available), quota, file size limit; nothing is left behind then.
/// DataError: the run directory cannot be written.
SaveFile create_partial(const std::filesystem::path& run_dir, const Graph& graph, const RunState& state);

struct FinishOptions {
  std::int64_t keep = 0;  ///< newest complete checkpoints to keep, this one included; 0 = all
  bool read_back = true;  ///< read the whole file once and compare with the checksums before anything older is removed
};

/// Combines the checksums of all shards (any order), writes them and the completeness marker, syncs, renames, lets `latest` point to it
/// and removes older ones beyond `keep`. Returns the checkpoint's path. A checkpoint of the same step is replaced. Rank 0 only.
/// SystemError where anything fails before the rename: discard() the file then.
std::filesystem::path finish(const SaveFile& file, const Graph& graph, std::span<const PieceChecksum> checksums,
                             const FinishOptions& options = {});

/// Removes the file of a save that failed; never throws.
void discard(const std::filesystem::path& partial) noexcept;

}  // namespace wsc::checkpoint
