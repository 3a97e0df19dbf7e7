#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# What saving costs: GPT-2 small (checkpoints of 1.5 GB), batch 2 x 512 tokens, saves every few steps, in one process with 2 threads and on
# 1 memoryx and 2 csx ranks. Prints for each layout the median step, the median of the steps that a save delays (those that it goes on
# beside, at least the one after it) and their ratio; then MB/s of the saves and of the last one, beside which nothing else runs, and of a
# plain write of the same bytes to the same folder. A save counts from its opening to the rename, so one beside steps contains them. The load
# of the machine comes first: other work on it lengthens steps at random. Exit code 1 where the ratio of a layout is above the limit.
#
#   bench/checkpoint.sh [SAVES=5] [EVERY=6]
#
# EVERY: steps from one save to the next, 5 at least. WSC: the program (build/release/wsc). WSC_MPIRUN: the launcher with its flags.
# LAYOUTS: "one-process 1x2". LIMIT: 1.2. TMPDIR: room for three checkpoints. OVERRIDES: further settings for wsc.
set -euo pipefail

usage() { sed -n '5,14s/^# \{0,1\}//p' "$0"; }
case ${1:-} in
  --help | -h) usage; exit 0 ;;
esac
saves=${1:-5} every=${2:-6}
[[ $saves =~ ^[1-9][0-9]*$ && $every =~ ^[1-9][0-9]*$ && $every -ge 5 ]] || { usage >&2; exit 2; }
cd "$(dirname "$0")/.."
. bench/common.sh

limit=${LIMIT:-1.2}
read -r -a layouts <<<"${LAYOUTS:-one-process 1x2}"
folder=$(mktemp -d "${TMPDIR:-/tmp}/wsc-checkpoint.XXXXXX")
trap 'rm -rf "$folder"' EXIT

# train LAYOUT: the run's log is $folder/log. Its last steps bring no save of their own, so that the one at the end stands alone.
train() {
  local launch=() cluster=(--cluster.fabric=null --cluster.threads=2)
  if [ "$1" = 1x2 ]; then
    launch=("${mpirun[@]}" -np 3)
    cluster=(--cluster.memoryx=1 --cluster.num_csx=2 --cluster.threads=1)
  fi
  rm -rf "$folder/run"
  "${launch[@]}" "$wsc" train inputs/gpt2-small.cfg --train_input.data_dir="$folder/data/train" --runconfig.model_dir="$folder/run" \
    --model.max_position_embeddings=512 --train_input.batch_size=2 \
    --train_input.max_sequence_length=512 --eval_input.max_sequence_length=512 --runconfig.eval_frequency=0 --runconfig.log_steps=1 \
    --runconfig.max_steps=$((every * saves + every - 1)) --runconfig.checkpoint_steps="$every" --runconfig.keep_checkpoints=1 \
    "${cluster[@]}" "${overrides[@]}" >"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&2; return 1; }
}

# Seconds of each step but the first, which warms up: "delayed 7.31" or "usual 6.80". A row of metrics.csv counts from the row before it.
steps() {
  awk '
    FNR == 1 { ++file }
    file == 1 && match($0, /Train Device=CSX, Step=[0-9]+/) { step = substr($0, RSTART + 23, RLENGTH - 23) + 0 }
    file == 1 && match($0, /Saved checkpoint .* at step [0-9]+/) {
      text = substr($0, RSTART, RLENGTH); sub(/.* /, "", text)
      for (s = text + 1; s <= (step > text + 1 ? step : text + 1); ++s) delayed[s] = 1
    }
    file == 2 && FNR == 1 { n = split($0, name, ","); for (i = 1; i <= n; ++i) at[name[i]] = i }
    file == 2 && FNR > 2 { split($0, v, ","); print (v[at["step"]] in delayed ? "delayed" : "usual"), 1024 / v[at["tokens_per_s"]] }
  ' "$folder/log" FS=, "$folder/run/metrics.csv"
}

# Seconds of each save.
save_seconds() { sed -n 's/.*Saved checkpoint .* at step [0-9]* in \([0-9.]*\) s.*/\1/p' "$folder/log"; }

data_set "$folder"

echo "$(nproc) processors, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
printf '%-12s %10s %10s %6s %6s   %s\n' layout "step s" "delayed s" ratio steps "MB/s of saves, alone, plain write"
status=0
for layout in "${layouts[@]}"; do
  train "$layout"
  steps >"$folder/steps"
  usual=$(sed -n 's/^usual //p' "$folder/steps" | median) delayed=$(sed -n 's/^delayed //p' "$folder/steps" | median)
  count=$(grep -c '^delayed' "$folder/steps")
  file=$(ls "$folder"/run/checkpoints/checkpoint_*.h5)
  bytes=$(stat -c %s "$file")
  plain=$(for _ in 1 2 3; do
    begin=$(date +%s.%N)
    dd if="$file" of="$folder/plain" bs=16M conv=fdatasync status=none
    awk -v b="$begin" -v e="$(date +%s.%N)" 'BEGIN { print e - b }'
    rm "$folder/plain"
  done | median)
  during=$(save_seconds | head -n "$saves" | median) alone=$(save_seconds | tail -n 1)
  awk -v layout="$layout" -v u="$usual" -v d="$delayed" -v n="$count" -v b="$bytes" -v s="$during" -v a="$alone" -v p="$plain" 'BEGIN {
    printf "%-12s %10.2f %10.2f %6.2f %6d   %.0f, %.0f, %.0f\n", layout, u, d, d / u, n, b / s / 1e6, b / a / 1e6, b / p / 1e6 }'
  awk -v u="$usual" -v d="$delayed" -v l="$limit" 'BEGIN { exit !(d <= l * u) }' || status=1
done
exit $status
