// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "wsc/checkpoint/pieces.hpp"
#include "wsc/checkpoint/run_state.hpp"

/// Loading: any number of shards reads the rows it owns. Every function throws DataError; where a file is damaged, the message names
/// file, dataset and the newest older checkpoint that is whole, with the option that starts from it.
namespace wsc::checkpoint {

/// Throws with a table of the parameters that are missing, extra or of another shape. Reads no values.
void check_model(const std::filesystem::path& path, const Graph& graph);

/// Throws where the optimizer's arrays are not those that the checkpoint holds.
void check_states(const std::filesystem::path& path, const std::vector<std::string>& state_names);

enum class What { all, model };  ///< model: weights only, states stay as they are

/// Reads this shard's pieces; refuses values that are not finite. Give the checksums of all shards to check_loaded().
std::vector<PieceChecksum> load_pieces(const std::filesystem::path& path, const Graph& graph, const std::vector<std::string>& state_names,
                                       std::vector<Piece>& pieces, What what);

/// Combines what all shards read and compares with the checksums in the file: so a damaged file is noticed without reading it twice.
/// Rank 0 only.
void check_loaded(const std::filesystem::path& path, const Graph& graph, std::span<const PieceChecksum> checksums);

/// Reads the whole file: structure, run state, every dataset's checksum, every value finite.
void verify(const std::filesystem::path& path);

}  // namespace wsc::checkpoint
