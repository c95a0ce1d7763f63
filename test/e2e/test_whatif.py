#!/usr/bin/env python3
"""Runs beside each other, and what a faster or slower part would bring."""

import json
import pathlib
import re
import tempfile
import unittest

from common import DIGITS, tessera
from test_report import page_data


def rows(text):
    """{change: (cycles, speed-up)} of a table that whatif printed."""
    found = re.findall(r"^  (\S.*?)  +(\d+) +([\d.]+)x ", text, re.M)
    return {change: (int(cycles), float(speed)) for change, cycles, speed in found}


class WhatIf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tmp = pathlib.Path(cls.folder.name)
        cls.built = cls.tmp / "digits.tsr"
        result = tessera("compile", DIGITS, "--arch", "tiny", "--dim", "N=16", "-o", cls.built)
        assert result.returncode == 0, result.stderr
        cls.base = cls.cycles("run", cls.built)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def cycles(cls, *args, arch=None):
        report = cls.tmp / "cycles.json"
        result = tessera(*args, *(["--arch", arch] if arch else []), "--json", report)
        assert result.returncode == 0, result.stderr
        return json.loads(report.read_text())["cycles"]

    def whatif(self, *args):
        result = tessera("whatif", *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return rows(result.stdout)

    def refused(self, text, *args):
        result = tessera("whatif", *args)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"\Aerror: [^\n]+\n\Z")
        self.assertIn(text, result.stderr)

    def test_each_change_and_all_together(self):
        table = self.whatif(self.built, "--scale", "matrix=2", "--scale", "dram=2", "--scale", "cp=0.5")
        self.assertEqual(list(table), ["as it is", "matrix=2", "dram=2", "cp=0.5", "matrix=2 dram=2 cp=0.5"])
        self.assertEqual(table["as it is"], (self.base, 1.0))
        self.assertLess(table["matrix=2"][0], 0.7 * self.base)  # It is limited by the matrix engine.
        self.assertLess(table["dram=2"][0], self.base)
        self.assertGreater(table["dram=2"][0], table["matrix=2"][0])
        self.assertGreater(table["cp=0.5"][0], self.base)
        for cycles, speed_up in table.values():
            self.assertAlmostEqual(speed_up, self.base / cycles, delta=0.006)

    def test_the_numbers_are_those_of_a_run_on_that_machine(self):
        shown = tessera("arch", "show", "tiny").stdout
        mine = self.tmp / "mine.yaml"
        lanes = int(re.search(r"lanes: (\d+)", shown)[1])
        mine.write_text(shown.replace(f"  lanes: {lanes}", f"  lanes: {4 * lanes}", 1))
        table = self.whatif(self.built, "--scale", "vector.lanes=4")
        self.assertEqual(table["vector.lanes=4"][0], self.cycles("run", self.built, arch=mine))
        self.assertLess(table["vector.lanes=4"][0], self.base)

    def test_a_model_compiled_anew(self):
        model = [DIGITS, "--arch", "tiny", "--dim", "N=16"]
        self.assertEqual(self.whatif(*model, "--scale", "dram=2")["as it is"][0], self.base)
        table = self.whatif(*model, "--scale", "matrix.cols=2", "--recompile")
        self.assertLess(table["matrix.cols=2"][0], self.base)

    def test_errors(self):
        self.refused("speed=2: there is no such key; accepted: matrix, vector, dram", self.built, "--scale", "speed=2")
        self.refused("--scale dram: is not KEY=FACTOR", self.built, "--scale", "dram")
        self.refused("--scale dram=2x: is not KEY=FACTOR", self.built, "--scale", "dram=2x")
        self.refused("a number above 0", self.built, "--scale", "dram=-2")
        self.refused("--recompile compiles the model for the new one", self.built, "--scale", "matrix.rows=2")
        self.refused("an object holds no model to compile again", self.built, "--scale", "dram=2", "--recompile")
        self.refused("accepted: a whole number from 1 to 1024", self.built, "--scale", "vector.latency=1.01")
        self.assertEqual(tessera("whatif", self.built).returncode, 2)

    def test_compare(self):
        for name, arch in (("a", "tiny"), ("b", "edge")):
            result = tessera("run", DIGITS, "--arch", arch, "--dim", "N=16", "--json", self.tmp / f"{name}.json")
            self.assertEqual(result.returncode, 0, result.stderr)
        a, b = (json.loads((self.tmp / f"{name}.json").read_text()) for name in "ab")
        result = tessera("compare", "a.json", "b.json", "--report", "page", cwd=self.tmp)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, rf"cycles +{a['cycles']:,} +{b['cycles']:,} +{a['cycles'] / b['cycles']:.2f}x\n")
        self.assertRegex(result.stdout, r"conv2, norm2, relu2 +[\d,]+ +[\d,]+ +[\d.]+x\n")
        runs = page_data(self.tmp / "page" / "index.html")["runs"]
        self.assertEqual([run["name"] for run in runs], ["a.json", "b.json"])
        self.assertEqual([run["run"] for run in runs], [a, b])

    def test_compare_errors(self):
        (self.tmp / "bad.json").write_text('{"schema": 1, "cycles": "many"}')
        for files, text in ((["none.json", "none.json"], "none.json"), (["bad.json", "bad.json"], "'/cycles' is missing or no number")):
            result = tessera("compare", *files, "--report", "nothing", cwd=self.tmp)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertRegex(result.stderr, r"\Aerror: [^\n]+\n\Z")
            self.assertIn(text, result.stderr)
            self.assertFalse((self.tmp / "nothing").exists())
        self.assertEqual(tessera("compare", "a.json").returncode, 2)


if __name__ == "__main__":
    unittest.main()
