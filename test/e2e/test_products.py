#!/usr/bin/env python3
"""Matrix products of extents that no tile size divides, checked by values."""

import pathlib
import sys
import tempfile
import unittest

from common import ROOT, tessera

sys.path.insert(0, str(ROOT / "test" / "bench" / "models"))
import gemm  # noqa: E402

# One and several cores; tiles forced by small memories, and by sharing.
SIZES = [(61, 127, 257), (127, 131, 509), (1, 509, 127)]


class Products(unittest.TestCase):
    def check(self, arch):
        with tempfile.TemporaryDirectory() as folder:
            for size in SIZES:
                model = pathlib.Path(folder) / f"{gemm.name(*size)}.mlir"
                model.write_text(gemm.text(*size, "f32"))
                result = tessera("run", model, "--arch", arch, "--verify")
                self.assertEqual(result.returncode, 0, f"{size}\n{result.stdout}{result.stderr}")

    def test_tiny(self):
        self.check("tiny")

    def test_edge(self):
        self.check("edge")

    def test_server(self):
        self.check("server")


if __name__ == "__main__":
    unittest.main()
