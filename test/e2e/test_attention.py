#!/usr/bin/env python3
"""Attention as one kernel: scores stay on the core, and the numbers are NumPy's."""

import json
import pathlib
import tempfile
import unittest

import numpy as np

from common import tessera
from onnx_writer import Graph

RNG = np.random.default_rng(11)


class Case:
    """Queries of `groups` heads to each of `heads` key heads, `size` elements long."""

    def __init__(self, heads, queries, keys, size, value_size=None, groups=1, mask=None,
                 dtype="float32", spread=1.0):
        self.heads, self.queries, self.keys, self.size = heads, queries, keys, size
        self.value_size, self.groups, self.dtype = value_size or size, groups, dtype
        shapes = {"q": [1, heads * groups, queries, size], "k": [1, heads, keys, size],
                  "v": [1, heads, keys, self.value_size]}
        self.inputs = {name: (spread * RNG.uniform(-1, 1, shape)).astype(dtype)
                       for name, shape in shapes.items()}
        self.mask = None if mask is None else np.asarray(mask, dtype)

    def model(self):
        """As exporters spell it: grouped heads by an expansion of keys and values."""
        g = Graph(17, "attention")
        for name, value in self.inputs.items():
            g.input(name, self.dtype, list(value.shape))
        k, v = "k", "v"
        if self.groups > 1:
            k, v = (self.repeated(g, name, self.inputs[name].shape) for name in "kv")
        scores = g.node("MatMul", ["q", g.node("Transpose", [k], perm=[0, 1, 3, 2])])
        scale = g.weight("scale", np.array(self.size ** -0.5, self.dtype))
        scores = g.node("Mul", [scores, scale])
        if self.mask is not None:
            scores = g.node("Add", [scores, g.weight("mask", self.mask)])
        g.output("y", g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v]), self.dtype,
                 [1, self.heads * self.groups, self.queries, self.value_size])
        return g.bytes()

    def repeated(self, g, name, shape):
        _, heads, length, size = shape
        split = g.node("Reshape", [name, g.weight(f"{name}_split", np.array(
            [1, heads, 1, length, size], np.int64))])
        wide = g.node("Expand", [split, g.weight(f"{name}_wide", np.array(
            [1, heads, self.groups, length, size], np.int64))])
        return g.node("Reshape", [wide, g.weight(f"{name}_joined", np.array(
            [1, heads * self.groups, length, size], np.int64))])

    def expected(self):
        q, k, v = (self.inputs[name].astype(np.float64) for name in "qkv")
        k, v = np.repeat(k, self.groups, 1), np.repeat(v, self.groups, 1)
        scores = q @ k.swapaxes(-1, -2) * self.size ** -0.5
        if self.mask is not None:
            scores = scores + self.mask.astype(np.float64)
        with np.errstate(invalid="ignore"):
            e = np.exp(scores - scores.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True) @ v


def causal(queries, keys, value):
    return np.triu(np.full((queries, keys), value), 1 + keys - queries)


class Attention(unittest.TestCase):
    def run_case(self, case, arch, *options, sanitize="race,memory,sync"):
        """The result and the report of a run that agrees with the host's reference."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "in").mkdir()
            (folder / "m.onnx").write_bytes(case.model())
            for i, value in enumerate(case.inputs.values()):
                np.save(folder / "in" / f"{i}.npy", value)
            result = tessera("run", folder / "m.onnx", "--arch", arch, "--inputs", folder / "in",
                             "--outputs", folder / "out", "--json", folder / "r.json", "--verify",
                             f"--sanitize={sanitize}", *options)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            return (np.load(folder / "out" / "0.npy"),
                    json.loads((folder / "r.json").read_text()))

    def check(self, case, archs=("tiny", "edge", "server"), atol=2e-6, dispatches=1,
              **options):
        for arch in archs:
            with self.subTest(arch=arch):
                found, report = self.run_case(case, arch, **options)
                np.testing.assert_allclose(found, case.expected(), rtol=0, atol=atol)
                if dispatches:
                    self.assertEqual(len(report["dispatches"]), dispatches)

    def test_shapes(self):
        for sizes in ((2, 8, 8, 16), (3, 7, 13, 5, 11), (2, 1, 33, 8)):
            with self.subTest(sizes):
                self.check(Case(*sizes))

    def test_overlapping_tiles(self):
        """Of 61 queries two cores compute some twice: both store the same."""
        self.check(Case(1, 61, 127, 16), sanitize="memory,sync")

    def test_keys_in_blocks(self):
        """On `tiny` a row of scores is longer than the accumulators: 1,021 keys are a prime,
        so that the last block is a smaller one."""
        self.check(Case(1, 24, 1021, 16, spread=3), archs=("tiny",), atol=1e-5)
        self.check(Case(1, 24, 1024, 16, spread=3), archs=("tiny",), atol=1e-5)

    def test_masks(self):
        for value in (-np.inf, -1e9, np.finfo(np.float32).min):
            with self.subTest(value):
                self.check(Case(2, 12, 29, 8, mask=causal(12, 29, value)))

    def test_rows_that_begin_masked(self):
        """Whole blocks of keys may be masked before the first one that is not."""
        mask = np.full((16, 1024), -np.inf)
        mask[:, 1000:] = 0
        mask[3, 5:9] = 0
        self.check(Case(1, 16, 1024, 16, mask=mask), archs=("tiny",), atol=1e-5)

    def test_masked_rows(self):
        """A row of -infinity is NaN by the definition; one of the lowest number is the mean."""
        for keys in (24, 1024):
            mask = np.zeros((16, keys))
            mask[2] = -np.inf
            mask[5] = np.finfo(np.float32).min
            case = Case(1, 16, keys, 16, mask=mask)
            for arch in ("tiny", "edge"):
                with self.subTest(arch=arch, keys=keys):
                    found, _ = self.run_case(case, arch)
                    self.assertTrue(np.isnan(found[0, 0, 2]).all())
                    np.testing.assert_allclose(found[0, 0, 5], case.inputs["v"][0, 0].mean(0),
                                               atol=1e-5)
                    rest = [row for row in range(16) if row != 2]
                    np.testing.assert_allclose(found[0, 0, rest], case.expected()[0, 0, rest],
                                               atol=1e-5)

    def test_rounded_weights(self):
        """Weights rounded to f16: 2^-11 of values up to 1, and the result again. Where rows
        are long the compiler may prefer three dispatches."""
        self.check(Case(2, 16, 40, 16, dtype="float16"), atol=2e-3)
        self.check(Case(1, 8, 1024, 16, dtype="float16"), archs=("tiny",), atol=2e-3,
                   dispatches=None)

    def test_lower_precision(self):
        """Operands of both products in bf16: scores of about 1 are off by 2^-9 of 16 terms,
        weights and values by 2^-9. The model's inputs are rounded by a dispatch each."""
        case = Case(2, 16, 40, 16)
        for arch in ("tiny", "edge"):
            found, report = self.run_case(case, arch, "--precision=bf16")
            np.testing.assert_allclose(found, case.expected(), rtol=0, atol=2e-2)
            self.assertEqual(len(report["dispatches"]), 3 + 1)


if __name__ == "__main__":
    unittest.main()
