# SPDX-FileCopyrightText: wsc authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/check-includes on small trees: each rule is broken once and must be reported at the right line, and only there."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check-includes"
SPDX = "// SPDX-FileCopyrightText: wsc authors\n// SPDX-License-Identifier: Apache-2.0\n"
GOOD = {
    "CMakeLists.txt": "wsc_folder(base)\nwsc_folder(fabric wsc_base)\nwsc_folder(hdf5 wsc_base)\nwsc_folder(train wsc_fabric)\n",
    "include/wsc/base/error.hpp": SPDX + "#pragma once\n",
    "include/wsc/fabric/request.hpp": SPDX + '#pragma once\n#include <mpi.h>\n#include "wsc/base/error.hpp"\n',
    "src/fabric/detail.hpp": SPDX + "#pragma once\n",
    "src/fabric/request.cpp": SPDX + '#include "wsc/fabric/request.hpp"\n#include "detail.hpp"\nint f() { return MPI_SUCCESS; }\n',
    "src/train/step.cpp": SPDX + '// MPI_Init is called elsewhere\nauto s = "MPI_Init", t = R"(H5Fopen)";\nint million = 1\'000\'000;\n',
    "src/main.cpp": SPDX + '#include "wsc/fabric/request.hpp"\n',
    "tests/helper.hpp": SPDX + "#pragma once\n",
    "tests/hdf5/file.test.cpp": SPDX + '#include <hdf5.h>\n#include "tests/helper.hpp"\n#include "wsc/base/error.hpp"\n',
}


def findings(changes):
    """What the script says about the good tree with some files replaced; the exit status must agree with it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**GOOD, **changes}.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        assert done.stderr == "" and done.returncode == (1 if lines else 0), done
        return lines


class CheckIncludes(unittest.TestCase):
    def assert_only(self, changes, place, words):
        lines = findings(changes)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(place + ": "), lines)
        self.assertIn(words, lines[0])

    def test_good_tree(self):
        self.assertEqual(findings({}), [])

    def test_order(self):
        wrong = SPDX + '#include "wsc/fabric/request.hpp"\n'
        self.assert_only({"src/base/log.cpp": wrong}, "src/base/log.cpp:3", "base includes fabric")
        self.assert_only({"include/wsc/base/log.hpp": SPDX + '#pragma once\n#include "wsc/fabric/request.hpp"\n'},
                         "include/wsc/base/log.hpp:4", "base includes fabric")
        self.assert_only({"tests/base/log.test.cpp": wrong}, "tests/base/log.test.cpp:3", "base includes fabric")

    def test_folder_outside_the_list(self):
        self.assert_only({"src/extras/x.cpp": SPDX}, "src/extras/x.cpp:1", "in no folder of the list")

    def test_root(self):
        self.assert_only({"src/train/a.cpp": SPDX + '#include "detail.hpp"\n'}, "src/train/a.cpp:3", "from the root")
        self.assert_only({"src/train/a.cpp": SPDX + '\n#include "wsc/base/no.hpp"\n'}, "src/train/a.cpp:4", "does not exist")
        self.assert_only({"src/train/a.cpp": SPDX + "#include <wsc/base/error.hpp>\n"}, "src/train/a.cpp:3", "is ours")
        self.assert_only({"tests/train/a.test.cpp": SPDX + '#include "tests/no.hpp"\n'}, "tests/train/a.test.cpp:3", "does not exist")

    def test_mpi_outside_fabric(self):
        self.assert_only({"src/train/a.cpp": SPDX + "#include <mpi.h>\n"}, "src/train/a.cpp:3", "MPI is used in fabric only")
        self.assert_only({"src/train/a.cpp": SPDX + "/* two\nlines */ int r = MPI_Barrier(0);\n"}, "src/train/a.cpp:4", "MPI_Barrier")

    def test_hdf5_outside_hdf5(self):
        self.assert_only({"src/train/a.cpp": SPDX + "#include <hdf5.h>\n"}, "src/train/a.cpp:3", "HDF5 is used in hdf5 only")
        self.assert_only({"src/fabric/a.cpp": SPDX + "auto f = H5Fopen;\n"}, "src/fabric/a.cpp:3", "H5Fopen")

    def test_pairs(self):
        self.assert_only({"src/fabric/request.cpp": SPDX + "int f();\n"}, "src/fabric/request.cpp:1", "does not include it")

    def test_head(self):
        self.assert_only({"src/train/a.cpp": "int a;\n"}, "src/train/a.cpp:1", "SPDX")
        self.assert_only({"include/wsc/base/error.hpp": SPDX}, "include/wsc/base/error.hpp:1", "#pragma once")

    def test_size(self):
        self.assert_only({"src/train/a.cpp": SPDX + "\n" * 499}, "src/train/a.cpp:501", "the limit is 500")
        self.assert_only({"src/train/step.cpp": SPDX + "\n" * 58}, "src/train/step.cpp:60", "the limit is 59")

    def test_step_does_not_log(self):
        log = {"include/wsc/base/log.hpp": SPDX + "#pragma once\n", "src/train/step.cpp": SPDX + '#include "wsc/base/log.hpp"\n'}
        self.assert_only(log, "src/train/step.cpp:3", "table of contents")


if __name__ == "__main__":
    unittest.main()
