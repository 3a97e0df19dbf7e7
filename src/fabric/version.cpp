// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/fabric/version.hpp"

#include <mpi.h>

namespace wsc::fabric {

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);  // one of the few calls that MPI allows before MPI_Init
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find(','));
}

}  // namespace wsc::fabric
