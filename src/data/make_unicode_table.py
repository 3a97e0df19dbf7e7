#!/usr/bin/env python3
# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""Writes unicode_table.inc beside itself: the code points of the general categories L (letters) and N (numbers), as ranges."""
import os
import sys
import unicodedata


def ranges(category):
    found, first = [], None
    for c in range(sys.maxunicode + 2):
        inside = c <= sys.maxunicode and unicodedata.category(chr(c)).startswith(category)
        if inside and first is None:
            first = c
        if not inside and first is not None:
            found.append((first, c - 1))
            first = None
    return found


def table(name, category):
    cells = [f"{{0x{a:x}, 0x{b:x}}}," for a, b in ranges(category)]
    lines = ["    " + " ".join(cells[i:i + 6]) for i in range(0, len(cells), 6)]
    return f"constexpr CodePointRange {name}[] = {{\n" + "\n".join(lines) + "\n};\n"


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "unicode_table.inc"), "w") as out:
    out.write("// SPDX-FileCopyrightText: wsc authors\n// SPDX-License-Identifier: Apache-2.0\n")
    out.write(f"// Made by make_unicode_table.py from Unicode {unicodedata.unidata_version}. First and last code point of each range.\n\n")
    out.write(table("letter_ranges", "L") + "\n" + table("number_ranges", "N"))
