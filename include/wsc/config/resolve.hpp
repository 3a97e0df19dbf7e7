// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "wsc/config/settings.hpp"

namespace wsc::config {

/// Fills in what follows from other settings: filter_size, eval_input.batch_size, csx.memory.
void resolve(Settings& settings);

/// "model.num_heads = 5 (inputs/x.cfg:4)" for a key.
using Say = std::function<std::string(const std::string&)>;

/// Throws SettingsError for settings that are each allowed but contradict one another.
void check_together(const Settings& settings, const Say& say);

}  // namespace wsc::config
