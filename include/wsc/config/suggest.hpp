// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// "Did you mean ...?"
namespace wsc::config {

/// Insertions, deletions, changes and swaps of neighbours that turn one text into the other, case ignored.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate most like `text`, if one is like it at all.
std::optional<std::string> nearest(const std::string& text, const std::vector<std::string>& candidates);

/// A text fit for a message: cut to 60 characters, control characters replaced.
std::string printable(const std::string& text);

}  // namespace wsc::config
