// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/plan/plan.hpp"

namespace wsc::plan {

/// The order of execution within a wave, with the blocks that each visit receives and whose gradients it sends.
std::vector<PlannedVisit> order_visits(const Graph& graph, const Plan& plan);

/// Per op of the stage: runs again in backward when the stage recomputes, because its outputs are needed and were not kept.
std::vector<bool> ops_to_rerun(const Graph& graph, StageId stage);

/// Decides which tensors are wave arrays and places values, gradients and workspace in the arena. Fills tensors, overwrites,
/// arena_words, workspace and the activation bytes.
void place_tensors(const Graph& graph, Plan& plan);

/// Places blocks in the weight window and the gradient buffers.
void place_blocks(Plan& plan);

}  // namespace wsc::plan
