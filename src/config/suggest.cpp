// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/suggest.hpp"

#include <algorithm>

#include "wsc/config/numbers.hpp"

namespace wsc::config {

// Optimal string alignment: the Levenshtein table with one more case for two neighbours swapped.
int edit_distance(std::string_view first, std::string_view second) {
  const std::string a = lower_case(first), b = lower_case(second);
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::optional<std::string> nearest(const std::string& text, const std::vector<std::string>& candidates) {
  const int limit = std::max(2, static_cast<int>(text.size()) / 3);
  int best = limit + 1;
  std::optional<std::string> result;
  for (const std::string& candidate : candidates) {
    int distance = edit_distance(text, candidate);
    const bool part = text.size() >= 4 && (candidate.find(text) != std::string::npos || text.starts_with(candidate));
    if (part) distance = std::min(distance, 2);  // weight_decay for weight_decay_rate
    if (distance < best) {
      best = distance;
      result = candidate;
    }
  }
  return result;
}

std::string printable(const std::string& text) {
  std::string result = text.substr(0, 60);
  while (text.size() > 60 && !result.empty() && (static_cast<unsigned char>(text[result.size()]) & 0xC0) == 0x80) {
    result.pop_back();  // do not cut a UTF-8 sequence
  }
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.size() > 60 ? result + "…" : result;
}

}  // namespace wsc::config
