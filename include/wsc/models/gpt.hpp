// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/config/settings.hpp"
#include "wsc/graph/graph.hpp"

namespace wsc::models {

/// GPT-2/3: pre-norm decoder with learned or sinusoidal positions, tied or untied head.
Graph gpt(const ModelSettings& settings);

/// The model of the family that the settings name.
Graph build(const ModelSettings& settings);

}  // namespace wsc::models
