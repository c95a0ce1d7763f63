#!/usr/bin/env python3
"""--precision: contractions of f32 with operands rounded to bf16 or f16."""

import json
import pathlib
import tempfile
import unittest

import numpy as np

from common import DIGITS, DIGITS_INPUTS, tessera

PRODUCT = """
func.func @main(%a: tensor<24x40xf32>, %b: tensor<40x16xf32>) -> tensor<24x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<24x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<24x16xf32>) -> tensor<24x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<24x40xf32>, tensor<40x16xf32>) outs(%fill : tensor<24x16xf32>) -> tensor<24x16xf32>
  return %r : tensor<24x16xf32>
}
"""


def rounded_to_bf16(values):
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


class Precision(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tmp = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_model(self, *arguments):
        result = tessera("run", *arguments, "--json", self.tmp / "run.json")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return json.loads((self.tmp / "run.json").read_text())

    def test_a_product_against_an_independent_computation(self):
        (self.tmp / "model.mlir").write_text(PRODUCT)
        (self.tmp / "in").mkdir()
        random = np.random.default_rng(5)
        a = random.uniform(-2, 2, (24, 40)).astype(np.float32)
        b = random.uniform(-2, 2, (40, 16)).astype(np.float32)
        for i, value in enumerate((a, b)):
            np.save(self.tmp / "in" / f"{i}.npy", value)
        for precision, rounded in (("bf16", rounded_to_bf16),
                                   ("f16", lambda v: v.astype(np.float16).astype(np.float32))):
            run = self.run_model(self.tmp / "model.mlir", "--arch", "edge", "--inputs", self.tmp / "in",
                                 "--outputs", self.tmp / "out", f"--precision={precision}", "--verify")
            self.assertEqual(run["format"], precision)
            exact = rounded(a).astype(np.float64) @ rounded(b).astype(np.float64)
            found = np.load(self.tmp / "out" / "0.npy")
            # Sums of 40 products in f32: 40 roundings of 2^-24 of at most 40 * 4.
            self.assertLess(np.abs(found - exact).max(), 40 * 2.0 ** -24 * 160)
            self.assertGreater(np.abs(found - a.astype(np.float64) @ b).max(), 1e-4)

    def test_values_at_the_edges_of_the_formats(self):
        """Subnormals, infinities and NaN, against the reference, which rounds by other code."""
        (self.tmp / "model.mlir").write_text(PRODUCT)
        (self.tmp / "in").mkdir()
        a = np.zeros((24, 40), np.float32)
        for row, value in enumerate((1e-39, 3e-39, 9.2e-41, 1.17e-38, -1e-40, 65504, 65520, 3.4e38, -3.39e38, np.inf, np.nan)):
            a[row, 3] = value
        np.save(self.tmp / "in" / "0.npy", a)
        np.save(self.tmp / "in" / "1.npy", np.ones((40, 16), np.float32))
        for precision in ("bf16", "f16"):
            result = tessera("run", self.tmp / "model.mlir", "--arch", "edge", "--inputs", self.tmp / "in",
                             "--outputs", self.tmp / "out", f"--precision={precision}", "--verify")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(np.load(self.tmp / "out" / "0.npy")[6, 0], np.inf)
        self.assertEqual(np.load(self.tmp / "out" / "0.npy")[5, 0], 65504)

    def test_a_network_keeps_its_predictions_and_takes_less_time(self):
        figures = {}
        for precision in ("f32", "bf16", "f16"):
            figures[precision] = self.run_model(DIGITS, "--arch", "edge", "--inputs", DIGITS_INPUTS,
                                                f"--precision={precision}", "--verify")
        for precision in ("bf16", "f16"):
            run = figures[precision]
            self.assertEqual(run["format"], precision)
            self.assertLess(run["cycles"], 0.7 * figures["f32"]["cycles"])
            self.assertLess(run["bound"]["cycles"], 0.5 * figures["f32"]["bound"]["cycles"])
            self.assertLess(run["footprint"]["weights"], 0.6 * figures["f32"]["footprint"]["weights"])
            self.assertGreater(run["accuracy"]["correct"], 350)

    def test_a_format_that_the_array_lacks(self):
        result = tessera("arch", "show", "tiny")
        text = "".join(line for line in result.stdout.splitlines(True) if "f16:" not in line.replace("bf16:", ""))
        (self.tmp / "mine.yaml").write_text(text)
        result = tessera("run", DIGITS, "--arch", self.tmp / "mine.yaml", "--dim", "N=8", "--precision=f16")
        self.assertEqual(result.returncode, 1)
        self.assertIn("f16", result.stderr)


if __name__ == "__main__":
    unittest.main()
