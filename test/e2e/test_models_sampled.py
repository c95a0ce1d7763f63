#!/usr/bin/env python3
"""Samples of the long checks of models: ONNX's test models and random graphs."""

import pathlib
import subprocess
import sys
import unittest

from common import BIN, ROOT

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")


class Sampled(unittest.TestCase):
    def run_script(self, *command):
        done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True,
                              timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    @unittest.skipUnless(DATA.is_dir(), "libonnx-testdata is not installed")
    def test_onnx_test_models(self):
        out = self.run_script(ROOT / "test" / "conformance" / "run.py", "--bin", BIN,
                              "--every", "37", "--quiet")
        self.assertRegex(out, r"[1-9]\d* pass, \d+ refused, 0 wrong, 0 crash, 0 hang")

    def test_random_graphs(self):
        out = self.run_script(ROOT / "test" / "fuzz" / "random_graphs.py", "--graphs", "12")
        self.assertIn("12 graphs, 0 failed", out)


if __name__ == "__main__":
    unittest.main()
