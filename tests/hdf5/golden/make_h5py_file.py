#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Writes h5py_file.h5 beside itself: attributes and datasets as h5py users make them. Needs h5py and numpy."""
import os

import h5py
import numpy as np

out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "h5py_file.h5")
with h5py.File(out, "w") as f:
    f.attrs["count"] = 7                                  # int64
    f.attrs["small"] = np.uint8(200)
    f.attrs["rate"] = 0.125
    f.attrs["name"] = "größe"                             # variable-length UTF-8
    f.attrs["bytes"] = np.bytes_(b"fixed")                # fixed-length
    f.attrs["list"] = [3, 1, 2]
    f.create_dataset("group/inner/i16", data=np.arange(12, dtype=np.int16).reshape(4, 3) - 5)
    f.create_dataset("group/big_endian", data=np.array([1.5, -2.25], dtype=">f8"))
    f.create_dataset("zipped", data=np.arange(40, dtype=np.int32).reshape(10, 4), chunks=(3, 4), compression="gzip")
    f.create_dataset("text", data="a text\nof two lines")
    f.create_dataset("compound", data=np.zeros(2, dtype=[("a", "i4"), ("b", "f4")]))
    f.attrs["made_by"] = f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}, numpy {np.__version__}"
