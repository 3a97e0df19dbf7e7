// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/check.hpp"

#include <cmath>

#include "wsc/config/numbers.hpp"

namespace wsc::config {

bool Check::allows(double value) const {
  const bool above = low_open ? value > low : value >= low;
  const bool below = high_open ? value < high : value <= high;
  return above && below;
}

std::string Check::text() const {
  if (!words.empty()) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : " | ") + word;
    return all;
  }
  const std::string from = std::isinf(low) ? "" : (low_open ? "greater than " : "at least ") + number_text(low);
  const std::string to = std::isinf(high) ? "" : (high_open ? "less than " : "at most ") + number_text(high);
  return from.empty() || to.empty() ? from + to : from + " and " + to;
}

}  // namespace wsc::config
