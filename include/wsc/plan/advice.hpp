// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "wsc/plan/plan.hpp"

namespace wsc::plan {

/// The sentence for a plan that does not fit csx.memory: need, budget, and a change of settings (tried out) with which it would fit.
std::string does_not_fit(const Graph& graph, const Plan& plan);

}  // namespace wsc::plan
