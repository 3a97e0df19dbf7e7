// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "wsc/cli/command.hpp"

namespace wsc::cli {

/// `wsc bench step`: training steps of a deck in one process, the time of every kind of op in it, and beside it the GEMM bound, the sum
/// of the times of the step's own GEMMs, each measured alone.
ExitCode bench_step(Arguments arguments);

double median(std::vector<double> values);

}  // namespace wsc::cli
