// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/config/settings.hpp"
#include "wsc/train/evaluate.hpp"
#include "wsc/train/member.hpp"

namespace wsc::train {

/// Opens the data sets that the settings name, and checks that they fit the model and each other. Throws DataError, SettingsError.
RunData open_data(const Settings& settings, bool train, bool evaluate);

/// Trains as the settings say, on every rank of the channel (null = this process alone). `setup` has layout and threads. Returns ok, or
/// requeue when a signal or the time limit stopped the run after a checkpoint. Throws Error.
ExitCode train(const Settings& settings, Setup setup, fabric::Channel* channel);

/// Evaluates one checkpoint file, or freshly initialised weights where `checkpoint` is empty, on all ranks; prints loss, perplexity and
/// bits per byte. Returns the result on rank 0.
Evaluation evaluate_checkpoint(const Settings& settings, Setup setup, fabric::Channel* channel, const std::filesystem::path& checkpoint);

}  // namespace wsc::train
