# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
# Kokkos >= 4.2: an existing target, then find_package, then a pinned source release.
# A package's version file accepts requests for its own major only, hence one request per major. A version that does not fit is passed
# over without being loaded (loading it would define Kokkos::kokkos, and the fetched one could not).
foreach(version 6.0 5.0 4.2)
  if(NOT TARGET Kokkos::kokkos)
    find_package(Kokkos ${version} QUIET)
  endif()
endforeach()

if(TARGET Kokkos::kokkos)
  if(DEFINED Kokkos_DEVICES AND NOT "OPENMP" IN_LIST Kokkos_DEVICES)
    message(WARNING "Kokkos ${Kokkos_VERSION} in ${Kokkos_DIR} was built without OpenMP (it has: ${Kokkos_DEVICES}): a csx would compute with "
                    "one thread. Set Kokkos_ROOT to one built with Kokkos_ENABLE_OPENMP=ON.")
  endif()
  message(STATUS "Kokkos ${Kokkos_VERSION}: ${Kokkos_DIR}")
else()
  include(FetchContent)
  set(kokkos_url https://github.com/kokkos/kokkos/releases/download/4.6.02/kokkos-4.6.02.tar.gz)  # in one piece: install-deps.sh reads it
  set(kokkos_sha256 baf1ebbe67abe2bbb8bb6aed81b4247d53ae98ab8475e516d9c87e87fa2422ce)
  set(kokkos_archive ${CMAKE_BINARY_DIR}/kokkos-4.6.02.tar.gz)
  if(NOT FETCHCONTENT_SOURCE_DIR_KOKKOS AND NOT EXISTS ${kokkos_archive})
    # Downloaded here rather than by FetchContent, whose failure could not say what to do.
    message(STATUS "No Kokkos >= 4.2 found: fetching ${kokkos_url}")
    file(DOWNLOAD ${kokkos_url} ${kokkos_archive}.part STATUS status INACTIVITY_TIMEOUT 30)
    list(GET status 0 code)
    if(NOT code EQUAL 0)
      list(GET status 1 reason)
      file(REMOVE ${kokkos_archive}.part)
      message(FATAL_ERROR "No Kokkos >= 4.2 was found, and ${kokkos_url} could not be fetched (${reason}). Set Kokkos_ROOT to an installed "
                          "Kokkos, or run scripts/install-deps.sh, which installs one on Debian.")
    endif()
    file(RENAME ${kokkos_archive}.part ${kokkos_archive})
  endif()
  # Cache variables: as plain ones Kokkos would overlook them and build Serial only.
  set(Kokkos_ENABLE_OPENMP ON CACHE BOOL "Kokkos: OpenMP threads")
  set(Kokkos_ENABLE_SERIAL ON CACHE BOOL "Kokkos: serial execution")
  FetchContent_Declare(Kokkos URL ${kokkos_archive} URL_HASH SHA256=${kokkos_sha256} DOWNLOAD_EXTRACT_TIMESTAMP ON SYSTEM)
  FetchContent_MakeAvailable(Kokkos)
endif()
