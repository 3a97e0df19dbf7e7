// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace wsc::cli {

/// wsc and everything linked, one per line.
std::string versions();

}  // namespace wsc::cli
