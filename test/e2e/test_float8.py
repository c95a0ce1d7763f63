#!/usr/bin/env python3
"""Floats of eight bits: every pattern is read, and every boundary of rounding written,
as the formats' definitions say."""

import math
import pathlib
import tempfile
import unittest

import numpy as np

from common import tessera
from onnx_writer import Graph

RNG = np.random.default_rng(8)
# Name: number in the file, mantissa bits, bias, ends. "fn" has no infinities, "fnuz" one
# zero besides, and the bits of -0 are NaN.
FORMATS = {"float8e4m3fn": (17, 3, 7, "fn"), "float8e4m3fnuz": (18, 3, 8, "fnuz"),
           "float8e5m2": (19, 2, 15, "ieee"), "float8e5m2fnuz": (20, 2, 16, "fnuz")}


def value(name, code):
    """What the bits stand for, from the definition."""
    _, mantissa, bias, ends = FORMATS[name]
    sign = -1 if code & 0x80 else 1
    exponent, fraction = (code & 0x7f) >> mantissa, code & ((1 << mantissa) - 1)
    if ends == "fnuz" and code == 0x80 or ends == "fn" and code & 0x7f == 0x7f:
        return math.nan
    if ends == "ieee" and exponent == 31:
        return math.nan if fraction else sign * math.inf
    whole = fraction + ((1 << mantissa) if exponent else 0)
    return sign * math.ldexp(whole, max(exponent, 1) - bias - mantissa)


def nearest(name, x, saturate):
    """The bits of the nearest number, by search; None: NaN of any bits."""
    ends = FORMATS[name][3]
    if math.isnan(x):
        return None
    finite = [c for c in range(0x80) if math.isfinite(value(name, c))]
    top, last = finite[-1], value(name, finite[-1])
    # Half a step beyond the largest number rounds to the next one, there or not; a tie
    # goes to the even one.
    limit = last + (last - value(name, top - 1)) / 2
    magnitude = abs(x)
    if magnitude > limit or magnitude == limit and top & 1:
        if not saturate:
            return (0x7c | (0x80 if x < 0 else 0)) if ends == "ieee" else None
        code = top
    else:
        code = min(finite, key=lambda c: (abs(value(name, c) - magnitude), c & 1))
    negative = math.copysign(1, x) < 0 and not (ends == "fnuz" and code == 0)
    return code | (0x80 if negative else 0)


def boundaries(name):
    """Every finite number, the middles between neighbours, and what is next to those."""
    numbers = sorted({abs(value(name, c)) for c in range(256) if math.isfinite(value(name, c))})
    numbers.append(2 * numbers[-1] - numbers[-2])
    middles = [(a + b) / 2 for a, b in zip(numbers, numbers[1:])]
    x = np.array(numbers + middles, np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-1)),
                        np.array([np.inf, np.nan, 1e-45, 3e38], np.float32)])
    return np.concatenate([x, -x])


class Float8(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tmp = pathlib.Path(self.folder.name)

    def run_model(self, graph, *inputs, arch="tiny"):
        (self.tmp / "m.onnx").write_bytes(graph.bytes())
        (self.tmp / "in").mkdir(exist_ok=True)
        for i, array in enumerate(inputs):
            np.save(self.tmp / "in" / f"{i}.npy", array)
        result = tessera("run", self.tmp / "m.onnx", "--arch", arch, "--inputs", self.tmp / "in",
                         "--outputs", self.tmp / "out", "--verify")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return np.load(self.tmp / "out" / "0.npy")

    def equal_codes(self, name, got, x, saturate):
        self.assertEqual(got.dtype, np.uint8)
        for code, number in zip(got.ravel().tolist(), x.ravel().tolist()):
            want = nearest(name, number, saturate)
            if want is None:
                self.assertTrue(math.isnan(value(name, code)), f"{number} gave {code:#x}")
            else:
                self.assertEqual(code, want, f"{number!r} gave {code:#x}, expected {want:#x}")

    def test_every_pattern_is_read(self):
        codes = np.arange(256, dtype=np.uint8)
        for name in FORMATS:
            with self.subTest(name):
                graph = Graph(21, "read")
                graph.input("x", name, [256])
                graph.output("y", graph.node("Cast", ["x"], to=1), "float32", [256])
                want = np.array([value(name, int(c)) for c in codes], np.float32)
                got = self.run_model(graph, codes)
                np.testing.assert_array_equal(got, want)
                np.testing.assert_array_equal(np.signbit(got), np.signbit(want) & ~np.isnan(want)
                                              | np.isnan(want) & np.signbit(got))

    def test_every_boundary_is_written(self):
        for name, (number, *_) in FORMATS.items():
            x = boundaries(name)
            for saturate in (1, 0):
                with self.subTest(name, saturate=saturate):
                    graph = Graph(21, "write")
                    graph.input("x", "float32", x.shape)
                    y = graph.node("Cast", ["x"], to=number, saturate=saturate)
                    graph.output("y", y, name, x.shape)
                    self.equal_codes(name, self.run_model(graph, x), x, saturate)

    def test_between_types_and_through_movement(self):
        """f16 to E5M2, E5M2 to E4M3FN, a constant, and shapes changed meanwhile."""
        x = RNG.uniform(-500, 500, (4, 6)).astype(np.float16)
        graph = Graph(21, "chain")
        graph.input("x", "float16", x.shape)
        a = graph.node("Cast", ["x"], to=19)
        a = graph.node("Transpose", [a], perm=[1, 0])
        a = graph.node("Reshape", [a, graph.weight("s", np.array([3, 8], np.int64))])
        graph.output("y", graph.node("Cast", [a], to=17), "float8e4m3fn", [3, 8])
        middle = np.array([value("float8e5m2", nearest("float8e5m2", float(v), True))
                           for v in x.T.ravel()]).reshape(3, 8)
        self.equal_codes("float8e4m3fn", self.run_model(graph, x), middle, True)

    def test_quantisation(self):
        """QuantizeLinear and DequantizeLinear, by an axis and by blocks, of computed values."""
        for name, (number, *_) in FORMATS.items():
            for blocks in (0, 4):
                with self.subTest(name, blocks=blocks):
                    x = RNG.uniform(-300, 300, (3, 8)).astype(np.float32)
                    scale = np.array([[0.5, 2], [1, 0.25], [4, 8]] if blocks else
                                     [0.5, 1, 2], np.float32)
                    wide = np.repeat(scale, 4, 1) if blocks else scale[:, None]
                    more = {"axis": 1, "block_size": 4} if blocks else {"axis": 0}
                    graph = Graph(23, "quantise")
                    graph.input("x", "float32", x.shape)
                    s = graph.weight("s", scale)
                    q = graph.node("QuantizeLinear", ["x", s], output_dtype=number, **more)
                    graph.output("y", graph.node("DequantizeLinear", [q, s], **more), "float32", x.shape)
                    rounded = np.array([value(name, nearest(name, float(v), True))
                                        for v in (x / wide).ravel()], np.float32)
                    np.testing.assert_array_equal(self.run_model(graph, x), rounded.reshape(3, 8) * wide)

    def test_arithmetic_on_the_bits_is_refused(self):
        for op, operands in [("Add", 2), ("Relu", 1), ("MatMul", 2), ("Where", 3), ("Equal", 2),
                             ("TopK", 2), ("ReduceMax", 1), ("BitwiseAnd", 2), ("Pow", 2)]:
            with self.subTest(op):
                graph = Graph(21, "refused")
                graph.input("x", "float8e4m3fn", [4, 4])
                graph.node(op, ["x"] * operands, "r")
                graph.output("y", "r", "float8e4m3fn", [4, 4])
                (self.tmp / "m.onnx").write_bytes(graph.bytes())
                result = tessera("run", self.tmp / "m.onnx")
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn(f"({op}): operand 0 has elements of type float8e4m3fn", result.stderr)


if __name__ == "__main__":
    unittest.main()
