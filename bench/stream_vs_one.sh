#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# What the stream costs: the same training steps by one process with 2 threads, which streams nothing, and by 1 memoryx + 2 csx ranks of one
# thread each, with one global batch: GPT-2 small, 4 x 512 tokens, so 1024 tokens for each csx and step. The two run in turn (A B A B ...), so
# that a machine whose speed drifts treats both alike. Prints the step of each pair, exposed wait as a share of the step, overlap, the load of
# the machine; then medians. Exit code 1 where the ratio of the steps is above the limit.
#
#   bench/stream_vs_one.sh [PAIRS=3] [STEPS=5]
#
# STEPS: timed steps of each run; a first one warms up. WSC: the program (build/release/wsc). WSC_MPIRUN: the launcher with its flags.
# LIMIT: 1.08. TMPDIR: room for a checkpoint of 1.5 GB. OVERRIDES: further settings for both, STREAM_OVERRIDES: for the cluster only.
set -euo pipefail

usage() { sed -n '5,15s/^# \{0,1\}//p' "$0"; }
case ${1:-} in
  --help | -h) usage; exit 0 ;;
  -*) usage >&2; exit 2 ;;
esac
pairs=${1:-3} steps=${2:-5}
cd "$(dirname "$0")/.."
. bench/common.sh

limit=${LIMIT:-1.08}
read -r -a stream_overrides <<<"${STREAM_OVERRIDES:-}"
folder=$(mktemp -d "${TMPDIR:-/tmp}/wsc-stream.XXXXXX")
trap 'rm -rf "$folder"' EXIT

# column NAME: its values in metrics.csv but for the first step.
column() {
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == name) c = i; next } NR > 2 { print $c }' "$folder/run/metrics.csv"
}

# train COMMAND...: the command and its first arguments; further settings follow.
train() {
  rm -rf "$folder/run"
  "$@" --train_input.data_dir="$folder/data/train" --runconfig.model_dir="$folder/run" \
    --model.max_position_embeddings=512 --model.dropout_rate=0 --model.embedding_dropout_rate=0 --model.attention_dropout_rate=0 \
    --train_input.batch_size=4 --train_input.max_sequence_length=512 --eval_input.max_sequence_length=512 \
    --runconfig.max_steps=$((steps + 1)) --runconfig.log_steps=1 --runconfig.checkpoint_steps=0 --runconfig.eval_frequency=0 \
    "${overrides[@]}" >"$folder/wsc.log" 2>&1 || { tail -n 20 "$folder/wsc.log" >&2; return 1; }
}

data_set "$folder"

printf '%-8s %10s %10s %8s %12s %10s %8s\n' pair 'one s' 'stream s' ratio 'exposed %' 'overlap %' load
ones=() streams=() ratios=() waits=() overlaps=()
for ((pair = 1; pair <= pairs; ++pair)); do
  train "$wsc" train inputs/gpt2-small.cfg --cluster.fabric=null --cluster.threads=2
  ones+=("$(column step_s | median)")
  train "${mpirun[@]}" -np 3 "$wsc" train inputs/gpt2-small.cfg --cluster.memoryx=1 --cluster.num_csx=2 --cluster.threads=1 \
    "${stream_overrides[@]}"
  streams+=("$(column step_s | median)")
  ratios+=("$(awk -v a="${streams[-1]}" -v b="${ones[-1]}" 'BEGIN { print a / b }')")
  waits+=("$(paste -d' ' <(column exposed_wait_s) <(column step_s) | awk '{ print 100 * $1 / $2 }' | median)")
  overlaps+=("$(column overlap | awk '{ print 100 * $1 }' | median)")
  printf '%-8s %10.3f %10.3f %8.3f %12.2f %10.1f %8s\n' "$pair" "${ones[-1]}" "${streams[-1]}" "${ratios[-1]}" "${waits[-1]}" \
    "${overlaps[-1]}" "$(cut -d' ' -f1 /proc/loadavg)"
done
m() { printf '%s\n' "$@" | median; }
ratio=$(m "${ratios[@]}")
printf '%-8s %10.3f %10.3f %8.3f %12.2f %10.1f   limit of the ratio %s\n' median "$(m "${ones[@]}")" "$(m "${streams[@]}")" "$ratio" \
  "$(m "${waits[@]}")" "$(m "${overlaps[@]}")" "$limit"
awk -v r="$ratio" -v l="$limit" 'BEGIN { exit !(r <= l) }'
