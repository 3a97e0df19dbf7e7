#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets up, builds (build/release) and runs the tests. What follows goes to ctest:
#
#   scripts/test.sh                    all tests
#   scripts/test.sh -R fabric          those whose name contains "fabric"; -N lists them
#   WSC_PRESET=asan scripts/test.sh    with another preset: debug, asan, tsan
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${WSC_PRESET:-release}
jobs=$(nproc 2>/dev/null || echo 2)

scripts/install-deps.sh
cmake --preset "$preset"
cmake --build --preset "$preset" --parallel "$jobs"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1  # containers; without meaning for an ordinary user
ctest --preset "$preset" --parallel "$jobs" "$@"
