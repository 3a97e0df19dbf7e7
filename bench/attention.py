#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of attention over the length of the context: training steps of a tiny model (1 layer, 2 heads of 64, batch 1) in one
process with 1,024 to 50,000 tokens. Fits milliseconds of attention to a + b T + c T^2 and the resident peak to a line, both by least
squares of the relative deviations, and prints how far each length is from the fit.

usage: bench/attention.py [--wsc build/release/wsc] [--threads 2] [--steps 3] [--lengths 1024,2048,...]
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DECK = """[model]
hidden_size = 128
num_hidden_layers = 1
num_heads = 2
vocab_size = 256
max_position_embeddings = {tokens}
position_embedding_type = fixed
[optimizer]
learning_rate = 1e-4
[train_input]
data_dir = none
batch_size = 1
max_sequence_length = {tokens}
[runconfig]
model_dir = none
max_steps = 1
"""


def measure(options, folder, tokens):
    """Milliseconds of attention, forward and backward, and the resident peak in bytes."""
    deck = folder / "deck.cfg"
    deck.write_text(DECK.format(tokens=tokens))
    run = subprocess.run([options.wsc, "bench", "step", str(deck), "--steps", str(options.steps), f"--cluster.threads={options.threads}"],
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"wsc bench step failed with {tokens} tokens:\n{run.stdout}{run.stderr}")
    parts = re.findall(r"([\d.]+) ms +[\d.]+ % +attention", run.stdout)
    peak = re.search(r"resident peak (\d+) bytes", run.stdout)
    if len(parts) != 2 or not peak:
        sys.exit(f"wsc bench step printed something else than expected:\n{run.stdout}")
    return sum(map(float, parts)), int(peak.group(1))


def fit(xs, ys, degree):
    """Coefficients of the polynomial that minimises the sum of the squared relative deviations (normal equations, x in thousands)."""
    rows = [[(x / 1000) ** d / y for d in range(degree + 1)] for x, y in zip(xs, ys)]
    n = degree + 1
    system = [[sum(r[i] * r[j] for r in rows) for j in range(n)] + [sum(r[i] for r in rows)] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(system[r][i]))
        system[i], system[pivot] = system[pivot], system[i]
        for r in range(n):
            if r != i:
                factor = system[r][i] / system[i][i]
                system[r] = [a - factor * b for a, b in zip(system[r], system[i])]
    return [system[i][n] / system[i][i] for i in range(n)]


def value(coefficients, x):
    return sum(c * (x / 1000) ** d for d, c in enumerate(coefficients))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wsc", default="build/release/wsc")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384,32768,50000")
    options = parser.parse_args()
    lengths = [int(n) for n in options.lengths.split(",")]
    if len(lengths) < 4:
        sys.exit("attention.py: a fit of three coefficients needs at least 4 lengths.")
    with tempfile.TemporaryDirectory(prefix="wsc-attention-") as folder:
        figures = [measure(options, Path(folder), n) for n in lengths]
    times, peaks = [f[0] for f in figures], [f[1] for f in figures]
    time_fit, memory_fit = fit(lengths, times, 2), fit(lengths, peaks, 1)
    print(f"{'tokens':>8} {'ms':>10} {'fit':>7} {'peak MB':>9} {'fit':>7}")
    for n, ms, peak in zip(lengths, times, peaks):
        print(f"{n:8d} {ms:10.1f} {100 * (value(time_fit, n) / ms - 1):+6.1f}% {peak / 1e6:9.1f} {100 * (value(memory_fit, n) / peak - 1):+6.1f}%")
    a, b, c = time_fit
    print(f"attention: {a:.3g} ms + {b:.3g} ms (T/1000) + {c:.3g} ms (T/1000)^2")
    print(f"resident peak: {memory_fit[0] / 1e6:.1f} MB + {memory_fit[1] / 1e6:.3f} MB (T/1000)")


if __name__ == "__main__":
    main()
