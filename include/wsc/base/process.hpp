// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace wsc {

/// The largest resident size of this process so far, bytes.
std::int64_t resident_peak_bytes();

std::string host_name();

/// Lets every thread of ordinary priority that wants a processor go before the calling one.
void lower_priority_of_thread();

}  // namespace wsc
