#!/usr/bin/env python3
"""--verify finds what is wrong and where, and nothing where nothing is."""

import json
import pathlib
import re
import struct
import tempfile
import unittest

import numpy as np

from common import tessera
from onnx_writer import Graph

RNG = np.random.default_rng(11)


class Verify(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tmp = pathlib.Path(self.folder.name)

    def run_here(self, *arguments):
        return tessera(*arguments, cwd=self.tmp)

    def good(self, *arguments):
        result = self.run_here(*arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    def write_chain(self, layers=4, width=24):
        """x -> (MatMul, Softmax) of each layer. Softmaxes of columns keep the products apart;
        of rows they would be attention, one dispatch."""
        graph = Graph(17, "chain")
        value = graph.input("x", "float32", [5, width])
        self.weights = []
        for i in range(layers):
            weight = RNG.uniform(-1, 1, (width, width)).astype(np.float32)
            self.weights.append(weight)
            value = graph.node("MatMul", [value, graph.weight(f"w{i}", weight)], f"product{i}")
            value = graph.node("Softmax", [value], f"softmax{i}", axis=0)
        graph.output("y", value, "float32", [5, width])
        (self.tmp / "chain.onnx").write_bytes(graph.bytes())

    def compile_spoilt(self, model, weight, *options):
        """An object of the model with the sign of one weight turned."""
        data = bytearray((self.tmp / model).read_bytes())
        number = struct.pack("<f", self.weights[weight][3, 7])
        self.assertEqual(data.count(number), 1)
        data[data.index(number) + 3] ^= 0x80
        (self.tmp / "spoilt.onnx").write_bytes(data)
        self.good("compile", "spoilt.onnx", *options, "-o", "spoilt.tsr")

    def test_first_departing_dispatch_is_named(self):
        self.write_chain()
        self.good("compile", "chain.onnx", "--dispatch-outputs", "-o", "chain.tsr")
        printed = self.good("run", "chain.onnx", "--verify=each", "--program", "chain.tsr").stdout
        count = int(re.search(r"(\d+) of \1 dispatches compared agree", printed)[1])
        self.assertGreaterEqual(count, 7)
        for wrong in (0, 2):
            self.compile_spoilt("chain.onnx", wrong, "--dispatch-outputs")
            result = self.run_here("run", "chain.onnx", "--verify=each", "--program",
                                   "spoilt.tsr")
            self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
            found = re.search(r"The first dispatch that departs is of (\S+): (\d+) of 120 "
                              r"elements, by (\S+) at most, relative (\S+), RMS (\S+); "
                              r"accepted is (\S+) \(\d+ roundings", result.stdout)
            self.assertTrue(found, result.stdout)
            # Nodes are numbered in order, two a layer. One column of the product is wrong:
            # five rows of it.
            self.assertEqual(found[1].split("+")[0], f"MatMul_{2 * wrong}")
            if found[1] == f"MatMul_{2 * wrong}":
                self.assertEqual(found[2], "5")
            largest, rms, accepted = (float(found[i]) for i in (3, 5, 6))
            self.assertGreater(largest, rms)
            self.assertGreater(rms, 0)
            self.assertGreater(largest, 100 * accepted)

    def test_program_of_another_model_is_refused(self):
        self.write_chain(layers=1)
        self.good("compile", "chain.onnx", "-o", "chain.tsr")
        for arguments, wanted in [
                (("chain.onnx", "--verify=each", "--program", "chain.tsr"),
                 "chain.tsr: has other inputs or outputs than chain.onnx; accepted is an object "
                 "of that model and its dimensions, compiled with --dispatch-outputs"),
                (("chain.tsr", "--program", "chain.tsr"), "chain.tsr: is an object"),
                (("chain.onnx", "--program", "none.tsr"), "none.tsr")]:
            result = self.run_here("run", *arguments)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(wanted, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_results_that_roundings_decide(self):
        """1 / (exp(product) - nearly the same): a rounding is worth 10,000 of them."""
        graph = Graph(17, "amplified")
        graph.input("x", "float32", [6, 64])
        x = RNG.uniform(-1, 1, (6, 64)).astype(np.float32)
        weight = RNG.uniform(-1, 1, (64, 8)).astype(np.float32) / 8
        product = graph.node("MatMul", ["x", graph.weight("w", weight)])
        exact = np.exp(x.astype(np.float64) @ weight.astype(np.float64))
        near = graph.weight("near", (exact * (1 - 1e-4)).astype(np.float32))
        difference = graph.node("Sub", [graph.node("Exp", [product]), near])
        graph.output("y", graph.node("Reciprocal", [difference]), "float32", [6, 8])
        (self.tmp / "amplified.onnx").write_bytes(graph.bytes())
        np.save(self.tmp / "0.npy", x)
        printed = self.good("run", "amplified.onnx", "--inputs", ".", "--verify", "--json",
                            "r.json").stdout
        self.assertIn("all that follows the import", printed)
        # The first tolerance would not have done.
        (check,) = json.loads((self.tmp / "r.json").read_text())["outputs"]
        self.assertIn("and 4 times what rounding up or down changes", check["reason"])
        # It is no licence: a weight with the wrong sign is found all the same.
        self.weights = [weight]
        self.compile_spoilt("amplified.onnx", 0)
        result = self.run_here("run", "amplified.onnx", "--inputs", ".", "--verify",
                               "--program", "spoilt.tsr")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
