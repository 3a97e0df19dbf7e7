// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

/// What values an option may take: a range of numbers or one of a few words.
namespace wsc::config {

struct Check {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;  ///< the bound itself is not allowed
  std::vector<std::string> words;            ///< for texts; empty = any text

  bool allows(double value) const;
  /// "greater than 0", "from 0 to 1", "AdamW | Adam | SGD"; empty where everything is allowed.
  std::string text() const;
};

inline const Check anything{};
inline const Check positive{.low = 0.0, .low_open = true, .words = {}};
inline const Check non_negative{.low = 0.0, .words = {}};
inline const Check fraction{.low = 0.0, .high = 1.0, .high_open = true, .words = {}};  ///< 0 <= x < 1: rates of dropout, betas

/// Counts of tokens, samples or rows fit in 32 bits.
inline const Check count{.low = 1.0, .high = 2147483647.0, .words = {}};

inline Check at_least(double low) { return {.low = low, .words = {}}; }
inline Check between(double low, double high) { return {.low = low, .high = high, .words = {}}; }
inline Check one_of(std::vector<std::string> words) { return {.words = std::move(words)}; }

}  // namespace wsc::config
