#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# Training speed beside PyTorch's on the same machine in the same minutes: GPT-2 small, batch 2 x 512 tokens, fp32, one process, AdamW and
# clipping. The two programs run in turn (A B A B ...), so that a machine whose speed drifts treats both alike. Prints tokens/s of each
# pair, the medians and their ratio. Exit code 1 where the ratio is below the floor.
#
#   bench/step_vs_torch.sh TORCH_SCRIPT [PAIRS=3] [STEPS=5]
#
# TORCH_SCRIPT is called as `TORCH_SCRIPT L D H T B V STEPS` and prints its rate as "... 144.1 tok/s ...". STEPS: timed steps of each run.
# WSC: the program (build/release/wsc). PYTHON: python3. THREADS: 2. FLOOR: 0.8. TMPDIR: room for a checkpoint of 1.5 GB.
# OVERRIDES: further settings for wsc.
set -euo pipefail
export LC_ALL=C

usage() { sed -n '5,14s/^# \{0,1\}//p' "$0"; }
case ${1:-} in
  --help | -h) usage; exit 0 ;;
  "" | -*) usage >&2; exit 2 ;;
esac
[ -r "$1" ] || { echo "step_vs_torch: $1 is not a readable file." >&2; exit 3; }
script=$(realpath "$1")
pairs=${2:-3} steps=${3:-5}
cd "$(dirname "$0")/.."

wsc=${WSC:-build/release/wsc}
threads=${THREADS:-2}
floor=${FLOOR:-0.8}
read -r -a overrides <<<"${OVERRIDES:-}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1  # containers; without meaning for an ordinary user
[ -x "$wsc" ] || { echo "step_vs_torch: $wsc is missing; build it (README.md) or set WSC." >&2; exit 2; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/wsc-step.XXXXXX")
trap 'rm -rf "$folder"' EXIT

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# Tokens/s of the median step by metrics.csv; the first step warms up and does not count.
wsc_rate() {
  rm -rf "$folder/run"
  "$wsc" train inputs/gpt2-small.cfg --train_input.data_dir="$folder/data/train" --runconfig.model_dir="$folder/run" \
    --model.nonlinearity=gelu_tanh --model.max_position_embeddings=512 \
    --model.dropout_rate=0 --model.embedding_dropout_rate=0 --model.attention_dropout_rate=0 \
    --train_input.batch_size=2 --train_input.max_sequence_length=512 --eval_input.max_sequence_length=512 \
    --runconfig.max_steps=$((steps + 1)) --runconfig.log_steps=1 --runconfig.checkpoint_steps=0 --runconfig.eval_frequency=0 \
    --precision.compute=fp32 --cluster.fabric=null --cluster.threads="$threads" "${overrides[@]}" \
    >"$folder/wsc.log" 2>&1 || { tail -n 20 "$folder/wsc.log" >&2; return 1; }
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "tokens_per_s") column = i; next } NR > 2 { print $column }' \
    "$folder/run/metrics.csv" | median
}

torch_rate() {
  OMP_NUM_THREADS=$threads "${PYTHON:-python3}" "$script" 12 768 12 512 2 50257 "$steps" >"$folder/torch.log" 2>&1 ||
    { tail -n 20 "$folder/torch.log" >&2; return 1; }
  sed -n 's/.* \([0-9.]*\) tok\/s.*/\1/p' "$folder/torch.log" | tail -n 1
}

# Which tokens does not matter for the speed: bytes of the text that comes with wsc.
"$wsc" data build inputs/text/king_james_bible.txt.gz --out "$folder/data" --form corpus --tokenizer byte >"$folder/wsc.log" 2>&1 ||
  { cat "$folder/wsc.log" >&2; exit 3; }

printf '%-8s %12s %12s   (tokens/s)\n' pair wsc torch
ours=() theirs=()
for ((pair = 1; pair <= pairs; ++pair)); do
  ours+=("$(wsc_rate)")
  theirs+=("$(torch_rate)")
  printf '%-8s %12.1f %12.1f\n' "$pair" "${ours[-1]}" "${theirs[-1]}"
done
a=$(printf '%s\n' "${ours[@]}" | median) b=$(printf '%s\n' "${theirs[@]}" | median)
printf '%-8s %12.1f %12.1f   ratio %.2f, floor %s\n' median "$a" "$b" "$(awk -v a="$a" -v b="$b" 'BEGIN { print a / b }')" "$floor"
sed -n 's/^\(torch [^ ]* threads [0-9]*\).*/\1/p' "$folder/torch.log" | tail -n 1
awk -v a="$a" -v b="$b" -v f="$floor" 'BEGIN { exit !(a >= f * b) }'
