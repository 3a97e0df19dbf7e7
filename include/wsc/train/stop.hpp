// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace wsc::train {

/// From now on SIGTERM, SIGUSR1 and SIGINT ask for a stop: the step is finished, a checkpoint saved, and the process exits with 75. A
/// second SIGINT ends the process at once.
void watch_signals();

/// The signal that asked for a stop, or 0.
int stop_signal();

}  // namespace wsc::train
