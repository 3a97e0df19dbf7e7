// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "wsc/graph/graph.hpp"
#include "wsc/memoryx/shard.hpp"

/// A checkpoint holds arrays: array 0 is the weight (/model/<parameter>), array 1 + s the optimizer state s of a parameter
/// (/optimizer/<state>/<parameter>). Shards hold pieces of them.
namespace wsc::checkpoint {

using Piece = memoryx::Shard::Piece;

/// What a shard reports about a piece of an array that it wrote or read: plain bytes, so that it travels as it is.
struct PieceChecksum {
  std::int32_t array = 0;
  ParamId param;
  std::int64_t begin = 0, end = 0;  ///< elements of the parameter
  std::uint32_t crc = 0;            ///< CRC-32 of their bytes
  std::uint32_t reserved = 0;
};
static_assert(sizeof(PieceChecksum) == 32 && std::is_trivially_copyable_v<PieceChecksum>);

}  // namespace wsc::checkpoint
