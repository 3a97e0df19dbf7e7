#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Token files as the Model Zoo's scripts lay them out, written by h5py beside this script. Needs h5py and numpy.
The values follow formulas that dataset.test.cpp repeats."""
import os

import h5py
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
made_by = f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}, numpy {np.__version__}"


def sample(s, T, start):
    """input_ids, loss mask (0 on the first `start` positions and on padding), labels."""
    tokens = np.array([(31 * s + 7 * i) % 50 for i in range(T + 1)])
    mask = np.array([1 if start <= i < T - s % 3 else 0 for i in range(T)])
    return np.stack([tokens[:-1], mask, tokens[1:]])


def packed(lengths, T):
    """Documents of these lengths in one sample: spans count down, positions count up, padding is 0."""
    tokens = np.array([(5 * i) % 50 for i in range(T + 1)])
    mask, span, position, at = np.zeros((3, T), int)[0], np.zeros(T, int), np.zeros(T, int), 0
    for n in lengths:
        mask[at:at + n] = 1
        span[at:at + n] = np.arange(n - 1, -1, -1)
        position[at:at + n] = np.arange(n)
        at += n
    return np.stack([tokens[:-1] * (np.arange(T) < at), mask, tokens[1:] * (np.arange(T) < at), span, position])


with h5py.File(os.path.join(here, "sample_int32.h5"), "w") as f:          # as create_hdf5_dataset.py does
    data = np.stack([sample(s, 8, 1) for s in range(5)]).astype(np.int32)
    f.attrs["n_examples"] = len(data)
    f.create_dataset("data", data=data, dtype="i4", chunks=(1, 3, 8), compression="gzip")
    f.attrs["made_by"] = made_by
with h5py.File(os.path.join(here, "sample_int64.h5"), "w") as f:          # no count, other integers, one contiguous array
    f.create_dataset("data", data=np.stack([sample(s, 8, 0) for s in range(4)]).astype(np.int64))
with h5py.File(os.path.join(here, "vsl_int32.h5"), "w") as f:
    data = np.stack([packed(p, 8) for p in ([3, 2], [8], [1, 1, 5])]).astype(np.int32)
    f.attrs["n_examples"] = np.int32(len(data))
    f.create_dataset("data", data=data, chunks=(1, 5, 8), compression="gzip")
with h5py.File(os.path.join(here, "corpus_uint16.h5"), "w") as f:
    f.create_dataset("data", data=np.array([(13 * i) % 50 for i in range(100)], dtype=np.uint16))
