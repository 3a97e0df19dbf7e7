// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/plan/plan.hpp"

namespace wsc::plan {

constexpr std::int64_t largest_tile = 2048, smallest_tile = 64;  // rows: GEMMs of fewer rows waste the machine

/// The plan that spends the budget like this. `start` has the request and its blocks. tile_rows = 0: micro_batch_size says it.
Plan build(const Graph& graph, const Plan& start, const Candidate& choice);

}  // namespace wsc::plan
