// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace wsc::hdf5 {

/// "1.10.8": the library in use.
std::string library_version();

}  // namespace wsc::hdf5
