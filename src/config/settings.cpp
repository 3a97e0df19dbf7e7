// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/settings.hpp"

namespace wsc {

std::int64_t Settings::batch_size(std::int64_t step) const {
  for (const BatchScheduleSettings& piece : train_input.batch_schedule) {
    if (step < piece.until_step) return piece.batch_size;
  }
  return train_input.batch_size;
}

}  // namespace wsc
