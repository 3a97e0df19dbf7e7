#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains inputs/tinyshakespeare.cfg on a text, character by character, with three seeds: in one process with 2 threads, and on 1 memoryx
# and 2 csx ranks. Prints the validation loss (exact mean over the last tenth of the text) and the seconds of training of each run.
# Exit code 1 where the median loss of a layout is above the limit.
#
#   bench/tinyshakespeare.sh TEXT [FOLDER]
#
# FOLDER gets data and runs (default runs/bench-tinyshakespeare); what an earlier call left there is replaced.
# WSC: the program (build/release/wsc). WSC_MPIRUN: the launcher with its flags. SEEDS: "1 2 3". LIMIT: 1.91.
# LAYOUTS: "one-process 1x2". OVERRIDES: further settings for all runs, such as "--runconfig.max_steps=200".
# COMPUTES: "fp32": number formats of the training, such as "fp32 bf16": with several, exit code 1 also where the median loss of one of them
# is more than 1 % above that of the first on the same layout.
# PEER: a script called as `PEER TEXT`, which trains the same with PyTorch and prints its rate as "... 13544 tok/s ..."; PYTHONS: the
# interpreters for it ("python3"). Then each seed of one process is followed by the peers, and rates (tokens/s of the training loop) and
# ratios are printed, with the share of the step that its GEMMs take alone.
set -euo pipefail

usage() { sed -n '5,18s/^# \{0,1\}//p' "$0"; }
case ${1:-} in
  --help | -h) usage; exit 0 ;;
  "" | -*) usage >&2; exit 2 ;;
esac
[ -r "$1" ] || { echo "tinyshakespeare: $1 is not a readable file." >&2; exit 3; }
text=$(realpath "$1") folder=${2:+$(realpath -m "$2")}
cd "$(dirname "$0")/.."
. bench/common.sh

folder=${folder:-runs/bench-tinyshakespeare}
deck=inputs/tinyshakespeare.cfg
limit=${LIMIT:-1.91}
read -r -a seeds <<<"${SEEDS:-1 2 3}"
read -r -a layouts <<<"${LAYOUTS:-one-process 1x2}"
read -r -a computes <<<"${COMPUTES:-fp32}"
read -r -a pythons <<<"${PYTHONS:-python3}"

# The same for all runs. No evaluation during the training: its time would count.
common=(--train_input.data_dir="$folder/data/train" --eval_input.data_dir="$folder/data/val" --runconfig.eval_frequency=0 "${overrides[@]}")

# train LAYOUT COMPUTE SEED RUN: prints the seconds of the whole program. Its messages go to RUN.log, shown when it fails.
train() {
  local launch=() cluster=(--cluster.threads=2) begin end
  if [ "$1" = 1x2 ]; then
    launch=("${mpirun[@]}" -np 3)
    cluster=(--cluster.memoryx=1 --cluster.num_csx=2 --cluster.threads=1)
  fi
  begin=$(date +%s.%N)
  "${launch[@]}" "$wsc" train "$deck" "${common[@]}" "${cluster[@]}" --precision.compute="$2" --runconfig.model_dir="$4" \
    --runconfig.seed="$3" --train_input.shuffle_seed="$3" --runconfig.checkpoint_steps=0 >"$4.log" 2>&1 ||
    { tail -n 20 "$4.log" >&2; return 1; }
  end=$(date +%s.%N)
  awk -v b="$begin" -v e="$end" 'BEGIN { printf "%.1f\n", e - b }'
}

# evaluate COMPUTE RUN: prints the mean loss of the newest checkpoint, always in one process.
evaluate() {
  "$wsc" eval "$deck" "${common[@]}" --precision.compute="$1" --runconfig.model_dir="$2" --cluster.threads=2 >"$2.eval.log" 2>&1 ||
    { tail -n 20 "$2.eval.log" >&2; return 1; }
  sed -n 's/.*: loss \([0-9.]*\),.*/\1/p' "$2.eval.log" | tail -n 1
}

mkdir -p "$folder"
"$wsc" data build "$text" --out "$folder/data" --form corpus --tokenizer character --val-fraction 0.1 --split tail --overwrite

# The rate of a run's training loop: tokens/s by its last line.
rate_of() { sed -n 's/.* Processed .* in .* s (\([0-9.]*\) samples.*/\1/p' "$1.log" | tail -n 1 | awk '{ print $1 * 64 }'; }

peers() {
  local k rate
  for ((k = 0; k < ${#pythons[@]}; ++k)); do
    rate=$(OMP_NUM_THREADS=2 "${pythons[$k]}" "$PEER" "$text" | sed -n 's/.* \([0-9.]*\) tok\/s.*/\1/p' | tail -n 1)
    [ -n "$rate" ] || { echo "tinyshakespeare: $PEER with ${pythons[$k]} printed no rate." >&2; return 1; }
    echo "$rate" >>"$folder/peer$k"
    printf '%-12s %-7s %5s %9s %9s  %s tokens/s\n' "peer $k" - - - - "$rate"
  done
}

rm -f "$folder"/peer* "$folder/rates"
printf '\n%-12s %-7s %5s %9s %9s\n' layout compute seed loss seconds
status=0
for layout in "${layouts[@]}"; do
  first=
  for compute in "${computes[@]}"; do
    losses=() times=()
    for seed in "${seeds[@]}"; do
      run=$folder/$layout-$compute-seed$seed
      rm -rf "$run" "$run.log" "$run.eval.log"
      seconds=$(train "$layout" "$compute" "$seed" "$run")
      loss=$(evaluate "$compute" "$run")
      [ -n "$loss" ] || { echo "tinyshakespeare: wsc eval printed no loss; see $run.eval.log." >&2; exit 1; }
      printf '%-12s %-7s %5s %9.4f %9.1f\n' "$layout" "$compute" "$seed" "$loss" "$seconds"
      losses+=("$loss") times+=("$seconds")
      if [ -n "${PEER:-}" ] && [ "$layout" = one-process ] && [ "$compute" = "${computes[0]}" ]; then
        rate_of "$run" >>"$folder/rates"
        peers
      fi
    done
    middle=$(printf '%s\n' "${losses[@]}" | median)
    verdict="at most $limit: good"
    awk -v m="$middle" -v l="$limit" 'BEGIN { exit !(m <= l) }' || { verdict="above $limit" status=1; }
    if [ -n "$first" ]; then
      verdict+=$(awk -v m="$middle" -v f="$first" -v c="${computes[0]}" 'BEGIN { printf "; %+.2f %% of %s", 100 * (m / f - 1), c }')
      awk -v m="$middle" -v f="$first" 'BEGIN { exit !(m <= 1.01 * f) }' || { verdict+=", more than 1 %" status=1; }
    fi
    first=${first:-$middle}
    printf '%-12s %-7s %5s %9.4f %9.1f  %s\n' "$layout" "$compute" median "$middle" "$(printf '%s\n' "${times[@]}" | median)" "$verdict"
  done
done
if [ -s "$folder/rates" ]; then
  ours=$(median <"$folder/rates")
  for ((k = 0; k < ${#pythons[@]}; ++k)); do
    theirs=$(median <"$folder/peer$k")
    printf 'wsc %.0f tokens/s, %s %.0f: ratio %s\n' "$ours" "${pythons[$k]}" "$theirs" "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.2f", a / b }')"
  done
  "$wsc" bench step "$deck" --steps 40 --cluster.threads=2 | tail -n 1
fi
exit $status
