// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "wsc/checkpoint/load.hpp"
#include "wsc/checkpoint/run_state.hpp"
#include "wsc/data/dataset.hpp"
#include "wsc/train/plans.hpp"

namespace wsc::train {

/// Where a run begins.
struct Start {
  std::filesystem::path checkpoint;  ///< empty: fresh weights
  checkpoint::What what = checkpoint::What::all;
  checkpoint::RunState state;  ///< counts to go on from
};

/// Looks into the run directory and decides: fresh, resumed from the newest complete checkpoint, or from runconfig.checkpoint_path.
/// Refuses a deck that differs from the run's in a setting that makes it another run (runconfig.allow_changes overrides), another model,
/// another optimizer, data of another tokenizer. Only for rank 0, which holds the run lock.
Start find_start(const Settings& settings, const Graph& graph, const data::Dataset& data, const Setup& setup);

}  // namespace wsc::train
