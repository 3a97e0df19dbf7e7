#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs what wsc is built from, on Debian and its relatives. Where all is there it changes nothing, so it can run before every build.
#
#   scripts/install-deps.sh           install what is missing (as root, or through sudo)
#   scripts/install-deps.sh --check   only report; exit 0 when all is there, 1 when something is missing
#   scripts/install-deps.sh --yes     never ask, not even on a terminal
#
# WSC_SKIP_SETUP=1 turns it off, for machines where modules or Spack supply the libraries; CMake says then what it cannot find.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

packages=(g++ cmake ninja-build ccache pkg-config python3 clang-format
  libopenmpi-dev openmpi-bin libhdf5-dev hdf5-tools libboost-program-options-dev libdnnl-dev
  libspdlog-dev libfmt-dev nlohmann-json3-dev zlib1g-dev libzstd-dev
  libgtest-dev libgmock-dev libbenchmark-dev)
kokkos_minimum=4.2
own_kokkos="Install Kokkos $kokkos_minimum or later and set Kokkos_ROOT to it."
libc_minimum=2.38  # what Debian's libkokkos-dev is linked against
source_file=/etc/apt/sources.list.d/wsc-kokkos.sources
pin_file=/etc/apt/preferences.d/wsc-kokkos
root_dir=$(cd "$(dirname "$0")/.." && pwd)

say() { echo "install-deps: $*"; }
fail() { echo "install-deps: $*" >&2; exit 1; }
list() { local joined; printf -v joined "%s, " "$@"; echo "${joined%, }"; }
usage() { sed -n '5,11s/^# \{0,1\}//p' "$0"; }

# ---- what is there ----------------------------------------------------------------------------------------------------------------

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
version_of() { dpkg-query -W -f='${Version}' "$1" 2>/dev/null; }
candidate_of() { apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'; }
at_least() { [ -n "$1" ] && dpkg --compare-versions "$1" ge "$2"; }

# Archives that libkokkos-dev's CMake files name and the package does not ship: both libraries are headers only.
absent_archives() {
  local core
  core=$(dpkg-query -L libkokkos-dev 2>/dev/null | grep -m1 '/libkokkoscore\.so$') || return 0
  for name in algorithms simd; do
    [ -e "${core%/*}/libkokkos$name.a" ] || echo "${core%/*}/libkokkos$name.a"
  done
}

# Is there a Kokkos that CMake finds and that is new enough? The package is looked at first because that takes no time; the probe finds
# a site's own (Kokkos_ROOT, CMAKE_PREFIX_PATH, modules). A version that does not fit is passed over by find_package, not loaded.
kokkos_usable() {
  if installed libkokkos-dev && at_least "$(version_of libkokkos-dev)" "$kokkos_minimum" && [ -z "$(absent_archives)" ]; then return 0; fi
  command -v cmake >/dev/null && command -v c++ >/dev/null || return 1
  local probe rc=0
  probe=$(mktemp -d)
  cat >"$probe/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.22)
project(probe CXX)
foreach(version 6.0 5.0 $kokkos_minimum)
  if(NOT Kokkos_FOUND)
    find_package(Kokkos \${version} QUIET)
  endif()
endforeach()
if(NOT TARGET Kokkos::kokkos)
  message(FATAL_ERROR "none")
endif()
EOF
  cmake -S "$probe" -B "$probe/build" >/dev/null 2>&1 || rc=1
  rm -rf "$probe"
  return $rc
}

# Can CMake fetch the pinned source release? Asked with one byte of it; its address is written in cmake/ only.
source_release_reachable() {
  local address script rc=0
  address=$(grep -rhoE 'https://[^" )]*kokkos[^" )]*\.tar\.gz' "$root_dir/cmake" | head -1) || return 1
  command -v cmake >/dev/null || return 1
  script=$(mktemp)
  cat >"$script" <<EOF
file(DOWNLOAD "$address" "$script.part" RANGE_START 0 RANGE_END 0 TIMEOUT 20 STATUS status)
list(GET status 0 code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "\${status}")
endif()
EOF
  cmake -P "$script" >/dev/null 2>&1 || rc=1
  rm -f "$script" "$script.part"
  return $rc
}

# ---- changing the system ----------------------------------------------------------------------------------------------------------

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo env LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; fi; }
may_install() {
  [ "$(id -u)" = 0 ] && return 0
  command -v sudo >/dev/null || return 1
  if [ -t 0 ]; then sudo -v; else sudo -n true 2>/dev/null; fi
}
apt() { as_root apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" </dev/null; }
can_install() { apt-get -s --no-remove --no-install-recommends install "$@" </dev/null; }
# Output is kept back: it matters only when something fails.
install() {
  local log
  log=$(mktemp)
  if ! apt -y --no-remove --no-install-recommends install "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install $*; its last lines are above. Mend that and run this script again."
  fi
  rm -f "$log"
}

refresh_lists() {
  say "reading the package lists"
  apt -qq update >/dev/null 2>&1 || say "some package lists could not be read; going on with those that can"
}

# Sets archive and signed_by: the archive that the machine itself uses and the key it trusts for it, so that a site's mirror stays in use.
find_archive() {
  local entry file
  # shellcheck disable=SC2016  # the fields are apt-get's
  entry=$(apt-get indextargets --format '$(CREATED_BY)|$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)|$(SOURCESENTRY)' |
    grep -m1 '^Packages|Debian|Debian|main|') || return 1
  IFS='|' read -r _ _ _ _ archive file <<<"$entry"
  archive=${archive%/} file=${file%:*}
  if [[ $file == *.sources ]]; then  # Signed-By may be a path or, indented on the lines after it, the key itself
    signed_by=$(awk -v uri="$archive" 'BEGIN { RS = "" } index($0, uri) { print; exit }' "$file" |
      awk '/^Signed-By:/ { on = 1; print; next } /^[^ \t]/ { on = 0 } on')
  else
    signed_by=$(grep -F "$archive" "$file" | sed -nE 's/^deb +\[[^]]*signed-by=([^] ]+).*/Signed-By: \1/p' | head -1)
  fi
}

write_sources() {  # $1: suites
  as_root tee "$source_file" >/dev/null <<EOF
# Written by wsc's scripts/install-deps.sh: Kokkos comes from here, see $pin_file. Remove both files after an upgrade to a newer Debian.
Types: deb
URIs: $archive
Suites: $1
Components: main
$signed_by
EOF
  {
    echo "# Written by wsc's scripts/install-deps.sh: nothing but Kokkos, and what it needs, is taken from these suites."
    if [[ $1 == *trixie* ]]; then printf 'Package: *\nPin: release n=trixie\nPin-Priority: 100\n\n'; fi
    printf 'Package: *\nPin: release n=sid\nPin-Priority: 1\n\nPackage: libkokkos*\nPin: release n=sid\nPin-Priority: 500\n'
  } | as_root tee "$pin_file" >/dev/null
}
read_new_lists() {
  apt -qq update -o Dir::Etc::sourcelist="$source_file" -o Dir::Etc::sourceparts=/dev/null -o APT::Get::List-Cleanup=0
}

ask() {
  if [ "$yes" = 1 ] || [ ! -t 0 ]; then return 0; fi
  read -r -p "install-deps: go on? [y/N] " answer
  [[ $answer == [yY]* ]] || fail "stopped, and apt's sources are as before. $own_kokkos"
}

# Kokkos from Debian's unstable suite, for releases that have none (why, and what it changes: docs/decisions/001-kokkos-on-debian.md).
kokkos_from_unstable() {
  find_archive || fail "no usable Kokkos, and no Debian source to take it from. $own_kokkos"
  local suites=sid target=()
  if ! at_least "$(candidate_of libc6)" "$libc_minimum"; then suites="trixie sid" target=(-t trixie); fi
  say "Kokkos is not in this release: taking libkokkos-dev from Debian's suites '$suites' at $archive (adds $source_file and $pin_file)."
  if [ ${#target[@]} -gt 0 ]; then say "Upgrades libc, libstdc++ and their kin to Debian 13's; compiler and tools stay as they are."; fi
  ask
  write_sources "$suites"
  local log
  log=$(mktemp)
  if ! { read_new_lists && can_install "${target[@]}" libkokkos-dev; } >"$log" 2>&1; then
    as_root rm -f "$source_file" "$pin_file"
    grep -E '^ |^[EW]:' "$log" >&2 || true
    rm -f "$log"
    fail "libkokkos-dev cannot be installed from '$suites' at $archive; apt's sources are as before. $own_kokkos"
  fi
  rm -f "$log"
  install "${target[@]}" libkokkos-dev
}

install_kokkos() {
  if installed libtrilinos-kokkos-dev; then
    fail "libtrilinos-kokkos-dev is too old a Kokkos and conflicts with libkokkos-dev:" \
      "remove it (apt-get remove libtrilinos-kokkos-dev) and run this script again."
  elif installed libkokkos-dev && at_least "$(version_of libkokkos-dev)" "$kokkos_minimum"; then
    :  # only the archives are missing
  elif at_least "$(candidate_of libkokkos-dev)" "$kokkos_minimum" && can_install libkokkos-dev >/dev/null 2>&1; then
    say "installing libkokkos-dev"
    install libkokkos-dev
  elif source_release_reachable; then
    say "Kokkos is not in this release: CMake will fetch and build its pinned source; the system stays as it is."
    return 0
  else
    kokkos_from_unstable
  fi
  local archive_file
  for archive_file in $(absent_archives); do as_root ar rcs "$archive_file"; done
  kokkos_usable || fail "CMake still does not find a Kokkos of version $kokkos_minimum or later. $own_kokkos"
}

# ---- main -------------------------------------------------------------------------------------------------------------------------

check=0 yes=0
for argument in "$@"; do
  case $argument in
    --check) check=1 ;;
    --yes | -y) yes=1 ;;
    --help | -h) usage; exit 0 ;;
    *) fail "unknown argument $argument; --help lists them." ;;
  esac
done
if [ -n "${WSC_SKIP_SETUP:-}" ]; then say "skipped (WSC_SKIP_SETUP is set)"; exit 0; fi
if ! command -v apt-get >/dev/null; then
  say "not a Debian system, so nothing is installed. wsc needs the counterparts of $(list "${packages[@]}")" \
    "and Kokkos $kokkos_minimum or later; CMake says what it cannot find."
  exit 0
fi

missing=() kokkos=1
for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
kokkos_usable || kokkos=0
if [ ${#missing[@]} = 0 ] && [ $kokkos = 1 ]; then say "all there"; exit 0; fi

if [ $check = 1 ] || ! may_install; then
  if [ $kokkos = 0 ]; then
    if [ ${#missing[@]} = 0 ] && source_release_reachable; then say "all there but Kokkos: CMake will fetch and build it"; exit 0; fi
    missing+=("libkokkos-dev (Kokkos $kokkos_minimum or later)")
  fi
  if [ $check = 1 ]; then fail "missing: $(list "${missing[@]}")"; fi
  fail "missing: $(list "${missing[@]}"). Installing needs root: run 'sudo scripts/install-deps.sh' or ask your administrator;" \
    "where modules or Spack supply them, set WSC_SKIP_SETUP=1 and run again."
fi

refresh_lists
if [ ${#missing[@]} -gt 0 ]; then
  say "installing $(list "${missing[@]}")"
  install "${missing[@]}"
fi
kokkos_usable || install_kokkos
say "all there"
