#!/usr/bin/env python3
"""A run that was saved and restored in the middle ends like one that was not."""

import json
import pathlib
import tempfile
import unittest

from common import DIGITS, DIGITS_INPUTS, run, tessera


class Snapshot(unittest.TestCase):
    def check(self, arch):
        with tempfile.TemporaryDirectory() as folder:
            tmp = pathlib.Path(folder)
            built, report = tmp / "digits.tsr", tmp / "report.json"
            result = tessera("compile", DIGITS, "--arch", arch, "--dim", "N=360", "-o", built)
            self.assertEqual(result.returncode, 0, result.stderr)
            result = tessera("run", built, "--arch", arch, "--inputs", DIGITS_INPUTS,
                             "--json", report)
            self.assertEqual(result.returncode, 0, result.stderr)
            figures = json.loads(report.read_text())
            # In the middle of the longest kernel, and in two others.
            longest = max(figures["dispatches"], key=lambda dispatch: dispatch["cycles"])
            before = sum(dispatch["cycles"] for dispatch in
                         figures["dispatches"][:figures["dispatches"].index(longest)])
            points = sorted([before + longest["cycles"] // 2, figures["cycles"] // 50,
                             figures["cycles"] * 49 // 50])
            result = run("snapshot_check", built, DIGITS_INPUTS / "0.npy", "--at", *points)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            lines = result.stdout.splitlines()
            self.assertEqual(len(lines), 4)
            self.assertEqual(len({line.split("hash ")[1] for line in lines}), 1)
            # The runtime of the program and of the tool count the same cycles.
            self.assertIn(f" {figures['cycles']} cycles", lines[-1])

    def test_tiny(self):
        self.check("tiny")

    def test_edge(self):
        self.check("edge")


if __name__ == "__main__":
    unittest.main()
