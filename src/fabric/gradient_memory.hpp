// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "wsc/base/view.hpp"

/// Loops over gradient buffers, in parallel: on a machine of many cores one thread would need as long for them as a stage for its GEMMs.
namespace wsc::fabric {

/// data[e] = 0.
void zero(const Exec& exec, float* data, std::int64_t count);
/// sum[e] += part[e].
void add(const Exec& exec, float* sum, const float* part, std::int64_t count);
/// sum[e] += part[e], then part[e] = 0.
void carry(const Exec& exec, float* sum, float* part, std::int64_t count);

/// Makes room for so many elements; what was in the buffer is lost then.
void grow(Buffer<float>& buffer, std::int64_t elements, const std::string& label);

}  // namespace wsc::fabric
