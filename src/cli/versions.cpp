// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/versions.hpp"

#include <Kokkos_Macros.hpp>
#include <boost/version.hpp>
#include <oneapi/dnnl/dnnl.h>
#include <zlib.h>

#include "wsc/base/format.hpp"
#include "wsc/fabric/version.hpp"
#include "wsc/hdf5/version.hpp"

namespace wsc::cli {

std::string versions() {
  const dnnl_version_t* dnnl = dnnl_version();
  std::string t = printf_text("wsc %s\n", WSC_VERSION);
  t += "MPI " + fabric::mpi_version() + "\n";
  t += "HDF5 " + hdf5::library_version() + "\n";
  t += printf_text("Kokkos %d.%d.%d\n", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100);
  t += printf_text("oneDNN %d.%d.%d\n", dnnl->major, dnnl->minor, dnnl->patch);
  t += printf_text("Boost %d.%d.%d\n", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
  t += printf_text("zlib %s\n", zlibVersion());
  t += printf_text("compiler %s\n", __VERSION__);
  return t;
}

}  // namespace wsc::cli
