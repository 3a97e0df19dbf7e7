#!/usr/bin/env bash
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
#
# Training speed beside PyTorch's on the same machine in the same minutes: a GPT-2-like model, fp32, one process, AdamW and clipping. The
# programs run in turn (A B A B ...), so that a machine whose speed drifts treats all alike. Prints tokens/s of each round, the medians,
# the ratio to every PyTorch, and how close the step comes to its own GEMMs alone (GEMM bound / step). Exit code 1 where a ratio is below
# the floor.
#
#   bench/step_vs_torch.sh TORCH_SCRIPT [ROUNDS=5] [STEPS=3]
#
# TORCH_SCRIPT is called as `TORCH_SCRIPT L C H T B V STEPS` and prints its rate as "... 144.1 tok/s ...". STEPS: timed steps of each run.
# MODEL: "12 768 12 512 2 50257" (L C H T B V; GPT-2 small). PYTHONS: "python3", interpreters with a PyTorch each. THREADS: 2.
# WSC: the program (build/release/wsc). FLOOR: 1.0. OVERRIDES: further settings for wsc.
set -euo pipefail

usage() { sed -n '5,16s/^# \{0,1\}//p' "$0"; }
case ${1:-} in
  --help | -h) usage; exit 0 ;;
  "" | -*) usage >&2; exit 2 ;;
esac
[ -r "$1" ] || { echo "step_vs_torch: $1 is not a readable file." >&2; exit 3; }
script=$(realpath "$1")
rounds=${2:-5} steps=${3:-3}
cd "$(dirname "$0")/.."
. bench/common.sh

threads=${THREADS:-2} floor=${FLOOR:-1.0}
read -r -a model <<<"${MODEL:-12 768 12 512 2 50257}"
read -r -a pythons <<<"${PYTHONS:-python3}"
[ "${#model[@]}" = 6 ] || { echo "step_vs_torch: MODEL is six numbers: L C H T B V." >&2; exit 2; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/wsc-step.XXXXXX")
trap 'rm -rf "$folder"' EXIT

cat >"$folder/deck.cfg" <<EOF
[model]
num_hidden_layers = ${model[0]}
hidden_size = ${model[1]}
num_heads = ${model[2]}
max_position_embeddings = ${model[3]}
vocab_size = ${model[5]}
nonlinearity = gelu_tanh
[optimizer]
learning_rate = 1e-4
max_gradient_norm = 1.0
[train_input]
data_dir = none
batch_size = ${model[4]}
[runconfig]
model_dir = none
max_steps = 1
EOF

# "tokens/s bound/step" of the median step.
wsc_rate() {
  "$wsc" bench step "$folder/deck.cfg" --steps "$steps" --cluster.threads="$threads" "${overrides[@]}" >"$folder/wsc.log" 2>&1 ||
    { tail -n 20 "$folder/wsc.log" >&2; return 1; }
  sed -n 's/^step .* s, \([0-9.]*\) tokens.*bound \/ step = \([0-9.]*\)$/\1 \2/p' "$folder/wsc.log"
}

torch_rate() {
  OMP_NUM_THREADS=$threads "$1" "$script" "${model[@]}" "$steps" >"$folder/torch.log" 2>&1 || { tail -n 20 "$folder/torch.log" >&2; return 1; }
  sed -n 's/.* \([0-9.]*\) tok\/s.*/\1/p' "$folder/torch.log" | tail -n 1
}

names=()
for python in "${pythons[@]}"; do names+=("torch-$("$python" -c 'import torch; print(torch.__version__.split("+")[0])')"); done
printf '%-8s %10s %11s' round wsc bound/step
printf ' %14s' "${names[@]}"
printf '   (tokens/s)\n'
for ((round = 1; round <= rounds; ++round)); do
  line=$(wsc_rate)
  for python in "${pythons[@]}"; do line="$line $(torch_rate "$python")"; done
  echo "$line" >>"$folder/rounds"
  # shellcheck disable=SC2086  # split into its numbers on purpose
  printf "%-8s %10s %11s$(printf ' %%14s%.0s' "${pythons[@]}")\n" "$round" $line
done
column() { awk -v c="$1" '{ print $c }' "$folder/rounds" | median; }
ours=$(column 1) failed=0
printf '%-8s %10.1f %11.3f' median "$ours" "$(column 2)"
for ((i = 0; i < ${#pythons[@]}; ++i)); do printf ' %14.1f' "$(column $((i + 3)))"; done
printf '\n%-8s %22s' ratio ''
for ((i = 0; i < ${#pythons[@]}; ++i)); do
  theirs=$(column $((i + 3)))
  printf ' %14s' "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.2f", a / b }')"
  awk -v a="$ours" -v b="$theirs" -v f="$floor" 'BEGIN { exit !(a >= f * b) }' || failed=1
done
printf '   floor %s\n' "$floor"
exit $failed
