# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts of this folder share. Sourced in the root of the repository: sets wsc, overrides and mpirun from WSC, OVERRIDES and
# WSC_MPIRUN, and stops where there is no program.
# shellcheck shell=bash disable=SC2034
export LC_ALL=C
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1  # containers; without meaning for an ordinary user
wsc=${WSC:-build/release/wsc}
read -r -a overrides <<<"${OVERRIDES:-}"
read -r -a mpirun <<<"${WSC_MPIRUN:-mpirun --bind-to none --oversubscribe}"
[ -x "$wsc" ] || { echo "$(basename "$0" .sh): $wsc is missing; build it (README.md) or set WSC." >&2; exit 2; }

# The median of the numbers in the input.
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# data_set FOLDER: where it does not matter for the speed which tokens there are, bytes of the text that comes with wsc.
data_set() {
  "$wsc" data build inputs/text/king_james_bible.txt.gz --out "$1/data" --form corpus --tokenizer byte >"$1/data.log" 2>&1 ||
    { cat "$1/data.log" >&2; exit 3; }
}
