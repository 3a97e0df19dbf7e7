// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/config/settings.hpp"

namespace wsc::optimizer {

/// What a checkpoint holds of dynamic loss scaling.
struct LossScaleState {
  double scale = 0;                          ///< 0: scaling has not begun
  std::int64_t steps_since_rescale = 0;      ///< overflows included
  std::int64_t overflows_since_rescale = 0;  ///< steps whose gradient was not finite

  bool operator==(const LossScaleState&) const = default;
};

/// The factor on the loss that keeps small gradients above the smallest number of the compute format; the update divides it out again.
/// Fixed, or dynamic by the state machine of cerebras.md 6.12: more overflows per step than overflow_tolerance halve it, more than
/// steps_per_increase steps without such a change double it, within [min_loss_scale, max_loss_scale].
class LossScale {
 public:
  LossScale(const PrecisionSettings& settings, const LossScaleState& state);

  double factor() const { return dynamic_ ? state_.scale : settings_.loss_scaling_factor; }
  bool dynamic() const { return dynamic_; }
  /// Can a smaller factor help against an overflow?
  bool can_fall() const { return dynamic_ && state_.scale > settings_.min_loss_scale; }
  /// After each step: was its gradient finite?
  void advance(bool finite);
  /// For a checkpoint; the default where the factor is fixed.
  const LossScaleState& state() const { return state_; }

 private:
  void rescale(double factor);

  PrecisionSettings settings_;
  bool dynamic_;
  LossScaleState state_;
};

}  // namespace wsc::optimizer
