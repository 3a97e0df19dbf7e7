#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# From a fresh machine to a small GPT that writes English, in under ten minutes on two cores: sets up, builds, makes a data set out of the
# text in inputs/text, trains on an emulated cluster of one memoryx and two csx, evaluates and shows a sample. Each command is printed
# before it runs, to be used again. A second run goes on where the first one stopped.
#
#   scripts/quickstart.sh           all of it
#   scripts/quickstart.sh --fresh   first remove what an earlier quickstart left: data/quickstart, runs/quickstart
#
# WSC_MPIRUN replaces the launcher and its flags, e.g. WSC_MPIRUN="srun --mpi=pmix"; the default suits one machine with few cores.
set -euo pipefail
cd "$(dirname "$0")/.."

text=inputs/text/king_james_bible.txt.gz
deck=inputs/quickstart.cfg
data=data/quickstart
run=runs/quickstart
wsc=build/release/wsc
read -r -a mpirun <<<"${WSC_MPIRUN:-mpirun --bind-to none --oversubscribe}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1  # containers; without meaning for an ordinary user

title() { printf '\n=== %s\n' "$*"; }
show() {
  printf '$ '
  printf '%q ' "$@"
  echo
  "$@"
}

case ${1:-} in
  "") ;;
  --fresh) rm -rf "$data" "$run" ;;
  --help | -h) sed -n '5,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) echo "quickstart: unknown argument $1; --help lists them." >&2; exit 2 ;;
esac

title "1/6 Set up: the libraries that wsc is built from"
show scripts/install-deps.sh

title "2/6 Build: $wsc"
show cmake --preset release -DWSC_TESTS=OFF
show cmake --build --preset release --target wsc --parallel "$(nproc 2>/dev/null || echo 2)"

title "3/6 Data: bytes of English text, packed into HDF5 files for training and validation"
if [ -d "$data/train" ]; then
  echo "$data is there already (--fresh makes it anew)"
else
  show "$wsc" data build "$text" --out "$data" --max-sequence-length 128 --val-fraction 0.05
fi

title "4/6 Train for about two minutes: one memoryx holds the weights, two csx compute"
show "${mpirun[@]}" -np 3 "$wsc" train "$deck"

title "5/6 Evaluate: loss and perplexity on all of the text that the model has not seen"
show "$wsc" eval "$run"

title "6/6 Generate"
show "$wsc" generate "$run" --prompt "And God said" --max-tokens 300 --temperature 0.8 --seed 1

cat <<EOF

Done. The run is in $run: run.log, metrics.csv, eval.csv, config.cfg and checkpoints/.

What to try next
  $wsc plan $deck
      what the cluster does, stage by stage, and what it needs; try it on inputs/gigagpt-175b.cfg
  ${mpirun[*]} -np 4 $wsc train $deck --runconfig.model_dir=runs/two-by-two --cluster.memoryx=2 --cluster.num_csx=2
      the same training on another cluster: losses agree to rounding
  ${mpirun[*]} -np 3 $wsc train $deck --runconfig.max_steps=N
      a larger N than the deck's goes on from the last checkpoint
  $wsc train --help
      every setting; README.md and docs/ say the rest
EOF
