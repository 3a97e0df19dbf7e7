// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace wsc::fabric {

/// "Open MPI v4.1.4, …": the library in use. May be called before MPI starts.
std::string mpi_version();

}  // namespace wsc::fabric
