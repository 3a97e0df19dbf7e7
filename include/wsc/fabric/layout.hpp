// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/base/id.hpp"

namespace wsc::fabric {

using Rank = Id<struct RankTag>;      ///< position in the world
using ShardId = Id<struct ShardTag>;  ///< index of a memoryx rank among the memoryx ranks
using CsxId = Id<struct CsxTag>;      ///< index of a csx rank among the csx ranks

/// World = M memoryx ranks, then N csx ranks.
struct Layout {
  int memoryx = 1;  ///< M
  int csx = 1;      ///< N

  int ranks() const { return memoryx + csx; }
  bool is_memoryx(Rank r) const { return r.index < memoryx; }
  ShardId shard(Rank r) const { return is_memoryx(r) ? ShardId(r.index) : ShardId(); }
  CsxId csx_of(Rank r) const { return is_memoryx(r) ? CsxId() : CsxId(r.index - memoryx); }
  Rank rank(ShardId m) const { return Rank(m.index); }
  Rank rank(CsxId i) const { return Rank(memoryx + i.index); }
};

}  // namespace wsc::fabric
