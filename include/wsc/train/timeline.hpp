// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "wsc/config/settings.hpp"
#include "wsc/fabric/layout.hpp"
#include "wsc/train/control.hpp"

namespace wsc::train {

/// From the clock of a rank to that of rank 0: add `shift_s`; the truth lies within ± `error_s`.
struct ClockShift {
  double shift_s = 0, error_s = 0;
};

/// By a few rounds of messages, on all ranks alike: what rank 0 sent before this rank read its clock, and got after, bounds the shift
/// from both sides; the tightest bounds of all rounds hold.
ClockShift align_clock(Control& control);

/// The timeline of the first runconfig.trace_steps steps of a run, in the Chrome trace event format that chrome://tracing and Perfetto
/// open: one process per rank, its threads, and the transfers of its fabric thread as asynchronous events. All ranks make one and write it
/// together.
class Timeline {
 public:
  /// Begins to note events. Throws SystemError on rank 0 where the file cannot be written.
  Timeline(const RunSettings& settings, const fabric::Layout& layout, Control control);

  bool complete(std::int64_t steps) const { return steps >= steps_; }
  /// Ends the notes; rank 0 gathers and writes them.
  void write();

 private:
  std::string path_;
  std::int64_t steps_;
  fabric::Layout layout_;
  Control control_;
  ClockShift clock_;
};

}  // namespace wsc::train
