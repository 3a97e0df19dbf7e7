// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/optimizer/loss_scale.hpp"

#include <algorithm>

namespace wsc::optimizer {

LossScale::LossScale(const PrecisionSettings& settings, const LossScaleState& state)
    : settings_(settings), dynamic_(settings.loss_scaling_factor == dynamic_loss_scaling) {
  if (!dynamic_) return;
  state_ = state;
  if (state_.scale == 0) state_.scale = settings.initial_loss_scale;
  state_.scale = std::clamp(state_.scale, settings.min_loss_scale, settings.max_loss_scale);
}

void LossScale::advance(bool finite) {
  if (!dynamic_) return;
  ++state_.steps_since_rescale;
  if (!finite) {
    ++state_.overflows_since_rescale;
    const double ratio = static_cast<double>(state_.overflows_since_rescale) / static_cast<double>(state_.steps_since_rescale);
    if (ratio > settings_.overflow_tolerance) rescale(0.5);
  } else if (state_.steps_since_rescale > settings_.steps_per_increase) {
    rescale(2);
  }
}

void LossScale::rescale(double factor) {
  state_ = {.scale = std::clamp(state_.scale * factor, settings_.min_loss_scale, settings_.max_loss_scale)};
}

}  // namespace wsc::optimizer
