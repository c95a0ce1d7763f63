#!/usr/bin/env python3
"""TOSA models of integers on the simulated device, against exact arithmetic."""

import pathlib
import tempfile
import unittest

import numpy as np

from common import tessera

RNG = np.random.default_rng(11)


def integers(dtype, *shape):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


def scale(value, multiplier, shift):
    """value * multiplier / 2^shift, rounded half up, without a limit on the width."""
    return (int(value) * multiplier + (1 << (shift - 1))) >> shift


def const(name, dtype, value):
    return f'%{name} = "tosa.const"() <{{values = dense<{value}> : tensor<1x{dtype}>}}> : () -> tensor<1x{dtype}>\n'


class Integers(unittest.TestCase):
    def run_model(self, text, *inputs, arch="edge"):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "in").mkdir()
            (folder / "model.mlir").write_text(text)
            for i, array in enumerate(inputs):
                np.save(folder / "in" / f"{i}.npy", array)
            result = tessera("run", folder / "model.mlir", "--arch", arch, "--inputs",
                             folder / "in", "--outputs", folder / "out", "--verify")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            return np.load(folder / "out" / "0.npy")

    def test_convolution_with_zero_points(self):
        x, w, bias = integers(np.int8, 1, 7, 9, 5), integers(np.int8, 6, 3, 3, 5), integers(np.int32, 6)
        zx, zw = -37, 0
        text = ("func.func @main(%x: tensor<1x7x9x5xi8>, %w: tensor<6x3x3x5xi8>, %b: tensor<6xi32>) -> tensor<1x7x9x6xi32> {\n"
                + const("zx", "i8", zx) + const("zw", "i8", zw) +
                "%r = tosa.conv2d %x, %w, %b, %zx, %zw {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : "
                "(tensor<1x7x9x5xi8>, tensor<6x3x3x5xi8>, tensor<6xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x7x9x6xi32>\n"
                "return %r : tensor<1x7x9x6xi32>\n}")
        padded = np.pad(x.astype(np.int64) - zx, ((0, 0), (1, 1), (1, 1), (0, 0)))
        want = np.zeros((1, 7, 9, 6), np.int64) + bias
        for i in range(3):
            for j in range(3):
                want += padded[:, i:i + 7, j:j + 9] @ (w[:, i, j].astype(np.int64) - zw).T
        want = want.astype(np.int32)  # Wraps.
        for arch in ("tiny", "edge"):
            np.testing.assert_array_equal(self.run_model(text, x, w, bias, arch=arch), want)

    def test_rescaling_has_64_bit_products(self):
        x = integers(np.int32, 4, 50)
        x[0, :6] = [0, 1, -1, 2**31 - 1, -2**31, 2**30]
        for multiplier, shift in ((1518500250, 38), (2**31 - 1, 31), (2**30, 62), (1073741825, 33)):
            text = ("func.func @main(%x: tensor<4x50xi32>) -> tensor<4x50xi8> {\n" +
                    const("m", "i32", multiplier) + const("s", "i8", shift) + const("zi", "i32", 0) +
                    const("zo", "i8", 0) +
                    "%r = tosa.rescale %x, %m, %s, %zi, %zo {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : "
                    "(tensor<4x50xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<4x50xi8>\n"
                    "return %r : tensor<4x50xi8>\n}")
            want = [np.clip(scale(v, multiplier, shift), -128, 127) for v in x.flat]
            got = self.run_model(text, x)
            np.testing.assert_array_equal(got.flatten(), np.array(want, np.int8))

    def test_half_precision_products_are_summed_in_single(self):
        a, b = (RNG.uniform(-1, 1, s).astype(np.float16) for s in ((9, 65), (65, 7)))
        text = """func.func @main(%a: tensor<9x65xf16>, %b: tensor<65x7xf16>) -> tensor<9x7xf32> {
          %zero = arith.constant 0.0 : f32
          %e = tensor.empty() : tensor<9x7xf32>
          %f = linalg.fill ins(%zero : f32) outs(%e : tensor<9x7xf32>) -> tensor<9x7xf32>
          %r = linalg.matmul ins(%a, %b : tensor<9x65xf16>, tensor<65x7xf16>) outs(%f : tensor<9x7xf32>) -> tensor<9x7xf32>
          return %r : tensor<9x7xf32>
        }"""
        np.testing.assert_allclose(self.run_model(text, a, b),
                                   a.astype(np.float32) @ b.astype(np.float32), 1e-5, 1e-6)

    def test_comparison_gives_booleans(self):
        a, b = RNG.uniform(-1, 1, (2, 5, 3)).astype(np.float32)
        text = """func.func @main(%a: tensor<5x3xf32>, %b: tensor<5x3xf32>) -> tensor<5x3xi1> {
          %r = tosa.greater %a, %b : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xi1>
          return %r : tensor<5x3xi1>
        }"""
        got = self.run_model(text, a, b)
        self.assertEqual(got.dtype, np.bool_)
        np.testing.assert_array_equal(got, a > b)


if __name__ == "__main__":
    unittest.main()
