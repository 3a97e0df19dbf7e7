// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "wsc/base/exact_sum.hpp"
#include "wsc/fabric/channel.hpp"
#include "wsc/memoryx/shard.hpp"
#include "wsc/train/breakdown.hpp"

namespace wsc::train {

/// What all ranks do next.
enum class PassKind : std::int32_t {
  step,          ///< one training step
  evaluate,      ///< forward on one batch of the evaluation data
  open_save,     ///< begin to write a checkpoint
  collect_save,  ///< end it
  timeline,      ///< write what the timeline has so far, and end it
  finish         ///< the run ends
};

/// The opening of a pass: rank 0 tells all ranks. Plain bytes.
struct PassOrder {
  PassKind kind = PassKind::finish;
  bool decides = false;  ///< `decision` concerns the gradients of the last step
  memoryx::UpdateDecision decision;
  std::int64_t step = 0;        ///< global step, from 0
  std::int64_t batch = 0;       ///< B of this pass
  double loss_scale = 1;        ///< step: a factor of all its gradients
  bool eval_last = false;       ///< evaluate: no more of them follow
  std::int64_t eval_batch = 0;  ///< evaluate: which one, from 0; 0 starts reading anew
};
static_assert(std::is_trivially_copyable_v<PassOrder>);

/// The closing of a pass: every rank tells rank 0. Plain bytes.
struct RankReport {
  ExactSum loss;                    ///< csx: sum of token losses
  std::int64_t valid_tokens = 0;    ///< csx
  ExactSum squared_norm;            ///< memoryx: Σ g² of the shard
  std::int32_t stop_requested = 0;  ///< number of the signal, or 0
  bool saving = false;              ///< memoryx: its part of a checkpoint is not yet on disk
  PassSeconds seconds;
  fabric::Counters counters;  ///< since the start
  std::int64_t resident_peak_bytes = 0;
  std::int64_t arena_bytes = 0, weight_bytes = 0, gradient_bytes = 0, state_bytes = 0;  ///< held now, by purpose
  std::int32_t error = 0;                                                               ///< exit code of what failed here, or 0
  char message[1024] = {};  ///< its sentence, or the name of a parameter whose gradient is not finite
};
static_assert(std::is_trivially_copyable_v<RankReport>);

}  // namespace wsc::train
