// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/fabric/schedule.hpp"
#include "wsc/graph/graph.hpp"

namespace wsc::plan {

/// Every block of the graph cut over `shards` shards at the row boundaries nearest to equal parts. A vector may be cut anywhere.
std::vector<fabric::BlockSplit> split_blocks(const Graph& graph, int shards);

}  // namespace wsc::plan
