#!/usr/bin/env python3
"""The digits classifier, from the ONNX file to checked predictions."""

import filecmp
import json
import pathlib
import tempfile
import unittest

import numpy as np

from common import DIGITS, DIGITS_INPUTS, ROOT, run, tessera, without_wall_times

ARCHITECTURES = ["tiny", "edge", "server"]
EXPECTED = np.load(ROOT / "test" / "e2e" / "models" / "digits.expected.npy")
LABELS = np.load(DIGITS_INPUTS / "labels.npy")


class Digits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tmp = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def simulate(self, arch, name, *args):
        """Runs the model with --verify; gives the JSON and the output folder."""
        outputs, report = self.tmp / name, self.tmp / f"{name}.json"
        result = tessera("run", DIGITS, "--arch", arch, "--inputs", DIGITS_INPUTS,
                         "--outputs", outputs, "--verify", "--json", report, *args)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return json.loads(report.read_text()), outputs

    def check_run(self, arch):
        report, outputs = self.simulate(arch, arch)
        scores = np.load(outputs / "0.npy")
        self.assertEqual(scores.shape, (360, 10))
        predictions = scores.argmax(axis=1)
        # Expected: what other software made of the same file, as scores or classes.
        expected = EXPECTED.argmax(axis=1) if EXPECTED.ndim == 2 else EXPECTED
        np.testing.assert_array_equal(predictions, expected)
        self.assertGreaterEqual((predictions == LABELS).mean(), 0.97)
        self.assertTrue(all(output["ok"] for output in report["outputs"]))
        self.assertEqual(report["arch"], arch)
        self.assertGreater(report["cycles"], 0)
        for floor in ("bound", "roofline"):
            self.assertGreater(report[floor]["efficiency"], 0)
            self.assertLessEqual(report[floor]["efficiency"], 1)
        self.assertLessEqual(report["matrix"]["utilization"], 1)
        self.assertLessEqual(report["dram"]["utilization"], 1)
        return report

    def test_tiny(self):
        report = self.check_run("tiny")
        self.assertLessEqual(report["spm"]["peak_bytes"], 64 * 1024)

    def test_edge(self):
        self.check_run("edge")

    def test_server(self):
        self.check_run("server")

    def test_same_numbers_on_every_architecture(self):
        # The accumulation order belongs to the ISA, so scores are equal bit for bit.
        scores = [np.load(self.simulate(arch, arch)[1] / "0.npy") for arch in ARCHITECTURES]
        np.testing.assert_array_equal(scores[0], scores[1])
        np.testing.assert_array_equal(scores[0], scores[2])

    def test_really_tiled_on_tiny(self):
        emitted = self.tmp / "tile.mlir"
        result = tessera("compile", DIGITS, "--arch", "tiny", "--dim", "N=360",
                         "--emit=tile", "-o", emitted)
        self.assertEqual(result.returncode, 0, result.stderr)
        kernels = emitted.read_text().split("tile.kernel")[1:]
        with_mma = [kernel for kernel in kernels if "tile.mma" in kernel]
        self.assertTrue(with_mma)
        self.assertTrue(any("scf.for" in kernel for kernel in with_mma))

    def test_every_level_reads_back(self):
        for arch in ARCHITECTURES:
            for level in ("graph", "tile", "isa", "device"):
                with self.subTest(arch=arch, level=level):
                    emitted = self.tmp / f"{arch}-{level}.mlir"
                    result = tessera("compile", DIGITS, "--arch", arch, "--dim", "N=360",
                                     f"--emit={level}", "-o", emitted)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    again = run("tessera-opt", emitted)
                    self.assertEqual(again.returncode, 0, again.stderr[:2000])
                    self.assertEqual(again.stdout.rstrip("\n"), emitted.read_text().rstrip("\n"))

    def test_twice_is_byte_identical(self):
        runs = []
        for name in ("first", "second"):
            trace = self.tmp / f"{name}.trace.json"
            _, outputs = self.simulate("edge", name, "--trace", trace)
            runs.append((outputs, (self.tmp / f"{name}.json").read_text(), trace.read_bytes()))
        names = sorted(path.name for path in runs[0][0].iterdir())
        self.assertEqual(names, sorted(path.name for path in runs[1][0].iterdir()))
        same, different, errors = filecmp.cmpfiles(runs[0][0], runs[1][0], names, shallow=False)
        self.assertEqual((different, errors), ([], []))
        self.assertEqual(without_wall_times(runs[0][1]), without_wall_times(runs[1][1]))
        self.assertEqual(runs[0][2], runs[1][2])
        self.assertGreater(len(runs[0][2]), 1000)

    def test_observing_changes_no_cycle(self):
        plain, _ = self.simulate("tiny", "plain")
        traced, _ = self.simulate("tiny", "traced", "--trace", self.tmp / "trace.json")
        self.assertEqual(plain["cycles"], traced["cycles"])

    def test_checks_find_nothing(self):
        for arch in ARCHITECTURES:
            with self.subTest(arch=arch):
                plain, _ = self.simulate(arch, "unchecked")
                checked, _ = self.simulate(arch, "checked", "--sanitize=race,memory,sync")
                self.assertEqual(plain["cycles"], checked["cycles"])

    def test_object_runs_alike(self):
        built = self.tmp / "digits.tsr"
        result = tessera("compile", DIGITS, "--arch", "edge", "--dim", "N=360", "-o", built)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.tmp / "object.json"
        result = tessera("run", built, "--arch", "edge", "--inputs", DIGITS_INPUTS,
                         "--outputs", self.tmp / "object", "--json", report)
        self.assertEqual(result.returncode, 0, result.stderr)
        direct, outputs = self.simulate("edge", "direct")
        self.assertEqual(json.loads(report.read_text())["cycles"], direct["cycles"])
        self.assertTrue(filecmp.cmp(self.tmp / "object" / "0.npy", outputs / "0.npy", shallow=False))

    def test_object_is_readable_by_binutils(self):
        built = self.tmp / "digits.tsr"
        result = tessera("compile", DIGITS, "--arch", "tiny", "--dim", "N=360", "-o", built)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = run("readelf", "-a", built)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertNotIn("arning", result.stdout)
        for command in ("disasm", "info"):
            result = tessera(command, built)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(result.stdout)


if __name__ == "__main__":
    unittest.main()
