// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "wsc/optimizer/loss_scale.hpp"

namespace wsc::checkpoint {

/// The newest file format that this build writes and reads.
inline constexpr std::int64_t format_version = 1;

/// All of a run but its arrays: what a checkpoint holds under /run. Counts as they are after `step` steps.
struct RunState {
  std::int64_t format = format_version;
  std::int64_t step = 0;              ///< steps done, skipped ones included
  std::int64_t samples = 0;           ///< the sampler's position: samples of the global order taken so far
  std::int64_t schedule_step = 0;     ///< position of the learning-rate schedule
  std::int64_t optimizer_step = 0;    ///< updates done: exponent of the bias corrections
  std::int64_t skipped_in_a_row = 0;  ///< steps without an update since the last one with
  std::int64_t skipped_total = 0;
  optimizer::LossScaleState loss_scale;  ///< absent from the file where it is the default
  std::int64_t memoryx = 0, csx = 0;     ///< M and N of the layout that wrote it; any other layout can read it
  std::vector<std::string> state_names;  ///< arrays per parameter besides the weight, such as exp_avg; names without spaces
  std::string wsc_version;               ///< the writer
  std::string deck;                      ///< resolved settings
  std::string tokenizer;                 ///< text of the tokenizer; may be empty
  std::string tokenizer_hash;            ///< may be empty

  bool operator==(const RunState&) const = default;
};

/// Reads and checks /run of a complete checkpoint. DataError where the file is incomplete, damaged (the message names the newest older
/// checkpoint that is whole) or of a newer format.
RunState read_run_state(const std::filesystem::path& path);

}  // namespace wsc::checkpoint
