#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden files gpt2_*.h5 beside this script and brings README.md's table of hashes up to date.

    python3 tests/golden/make_gpt2.py [FOLDER]      write to FOLDER instead; README.md stays as it is then

Needs PyTorch, numpy and h5py; needed only to change the files, not to run the tests. All arithmetic is in double precision; initial weights
are rounded to float32 first, so that a float32 program starts from the same numbers. README.md describes the content.
"""
import hashlib
import sys
from pathlib import Path

import h5py
import numpy as np
import torch

import reference_gpt as gpt

FOLDER = Path(__file__).resolve().parent
STEPS = 10
PAD = 0

TIED = dict(hidden_size=24, num_hidden_layers=2, num_heads=3, filter_size=96, vocab_size=61, max_position_embeddings=16,
            position_embedding_type="learned", share_embedding_weights=1, nonlinearity="gelu", layer_norm_epsilon=1e-5)
UNTIED = dict(hidden_size=20, num_hidden_layers=3, num_heads=2, filter_size=48, vocab_size=53, max_position_embeddings=16,
              position_embedding_type="fixed", share_embedding_weights=0, nonlinearity="relu", layer_norm_epsilon=1e-6)
OPTIMIZER = dict(learning_rate=1e-2, beta1=0.9, beta2=0.95, eps=1e-3, weight_decay_rate=0.1, max_gradient_norm=0.5)

# File name -> settings, seed, packed documents. 16 tokens a sample; in the packed file fewer than the rows of the position table.
FILES = {
    "gpt2_gelu.h5": (TIED, 1, False),
    "gpt2_gelu_tanh.h5": (TIED | dict(nonlinearity="gelu_tanh"), 2, False),
    "gpt2_untied_fixed_relu.h5": (UNTIED, 3, False),
    "gpt2_packed.h5": (TIED | dict(max_position_embeddings=20), 4, True),
}
B, T = 6, 16


def initial_weights(m, rng):
    """Matrices N(0, 0.1), vectors N(0, 0.1), gains N(1, 0.1): larger than in training, so that no term of a gradient is negligible."""
    weights = {}
    for name, shape in gpt.parameter_shapes(m).items():
        gain = "norm" in name and name.endswith("/weight")
        weights[name] = rng.normal(1.0 if gain else 0.0, 0.1, shape).astype(np.float32)
    return weights


def document(V, length, rng):
    """Tokens 1 to V - 1. Three of four follow from the one before, so that there is something to learn in ten steps."""
    tokens = rng.integers(1, V, length)
    for i in range(1, length):
        if rng.random() < 0.75:
            tokens[i] = 1 + (7 * tokens[i - 1] + 3) % (V - 1)
    return tokens


def masked_batch(V, rng):
    """(B, 3, T). Sample lengths differ: one is full, one has a prompt without loss, one a single valid token, one none at all."""
    lengths = rng.permutation([T, T - 2, 11, 5, 1, 0])
    batch = np.full((B, 3, T), PAD, np.int32)
    batch[:, 1] = 0
    for sample, length in zip(batch, lengths):
        tokens = document(V, T + 1, rng)
        sample[0, :length], sample[1, :length], sample[2, :length] = tokens[:length], 1, tokens[1 : length + 1]
        if length == T - 2:
            sample[1, : rng.integers(2, 7)] = 0
    return batch


def packed_batch(V, rng):
    """(B, 5, T). Several documents a sample; span = tokens of the document that still follow; positions restart; padding
    has span and position 0."""
    documents = [[16], [5, 7, 4], [1, 15], [8, 3], [2, 1, 6, 4], [9]]
    batch = np.full((B, 5, T), PAD, np.int32)
    batch[:, 1] = batch[:, 3:] = 0
    for sample, lengths in zip(batch, documents):
        start = 0
        for length in lengths:
            tokens, here = document(V, length + 1, rng), slice(start, start + length)
            sample[0, here], sample[1, here], sample[2, here] = tokens[:-1], 1, tokens[1:]
            sample[3, here], sample[4, here] = np.arange(length)[::-1], np.arange(length)
            start += length
    return batch


def write(file, path, value, dtype):
    """A contiguous dataset without time stamps, so that the same numbers give the same file."""
    file.create_dataset(path, data=np.asarray(value, dtype=dtype), track_times=False)


def write_attributes(file, values):
    """Scalars: int64, float64 or a fixed-length UTF-8 string."""
    for key, value in values.items():
        if isinstance(value, str):
            file.attrs.create(key, value.encode(), dtype=h5py.string_dtype("utf-8", len(value.encode())))
        else:
            file.attrs.create(key, value, dtype=np.float64 if isinstance(value, float) else np.int64)


def write_training(file, m, p, batches):
    modes = {"pytorch": gpt.PytorchAdamW(p, OPTIMIZER), "cerebras": gpt.FormulaAdamW(p, OPTIMIZER, "cerebras")}
    write(file, "adamw/batches", batches, np.int32)
    for mode, optimizer in modes.items():
        losses, norms = gpt.train(m, optimizer, torch.from_numpy(batches).long(), OPTIMIZER["max_gradient_norm"])
        write(file, f"adamw/{mode}/losses", losses, np.float64)
        write(file, f"adamw/{mode}/grad_norms", norms, np.float64)
        for name, value in optimizer.values().items():
            write(file, f"adamw/{mode}/final/{name}", value, np.float64)


def write_file(path, m, seed, packed):
    rng = np.random.default_rng(seed)
    weights = initial_weights(m, rng)
    p = {name: torch.from_numpy(value).double() for name, value in weights.items()}
    batch = (packed_batch if packed else masked_batch)(m["vocab_size"], rng)
    loss, logits, gradients = gpt.loss_and_gradients(m, p, torch.from_numpy(batch).long())

    with h5py.File(path, "w", libver=("v108", "v108")) as file:
        write_attributes(file, {"family": "gpt"} | m | {
            "script": Path(__file__).name, "seed": seed, "torch_version": torch.__version__, "numpy_version": np.__version__,
            "h5py_version": h5py.__version__})
        for name, value in weights.items():
            write(file, f"model/{name}", value, np.float32)
        write(file, "batch/data", batch, np.int32)
        write(file, "expected/loss", loss, np.float64)
        write(file, "expected/logits", logits, np.float64)
        write(file, "expected/grad_norm", gpt.global_norm(gradients), np.float64)
        for name, value in gradients.items():
            write(file, f"gradients/{name}", value, np.float64)
        if not packed:
            write_attributes(file, OPTIMIZER)
            write_training(file, m, p, np.stack([masked_batch(m["vocab_size"], rng) for _ in range(STEPS)]))


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def update_readme(folder):
    """Replaces what lies between the two markers of README.md."""
    readme = folder / "README.md"
    begin, end = "<!-- hashes -->\n", "<!-- end of hashes -->"
    head, rest = readme.read_text().split(begin)
    lines = [f"{sha256(folder / name)}  {name}\n" for name in FILES]
    readme.write_text(head + begin + "```\n" + "".join(lines) + "```\n" + end + rest.split(end)[1])


def main():
    torch.set_num_threads(1)  # sums in one order
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, (m, seed, packed) in FILES.items():
        write_file(folder / name, m, seed, packed)
        print(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} kB")
    if folder == FOLDER:
        update_readme(folder)


if __name__ == "__main__":
    main()
