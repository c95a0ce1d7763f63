#!/usr/bin/env python3
"""Functions, reductions and TOSA operators that engines lack, against NumPy."""

import math
import pathlib
import tempfile
import unittest

import numpy as np

from common import tessera

RNG = np.random.default_rng(21)


def apply(function, *arrays):
    """The function of each element, in double precision; NaN where it has no value."""
    def safely(*x):
        try:
            return function(*x)
        except (ValueError, OverflowError):
            return math.nan
    flat = [safely(*map(float, x)) for x in zip(*(a.ravel() for a in arrays))]
    return np.array(flat, np.float64).reshape(arrays[0].shape)


class MlirFunctions(unittest.TestCase):
    def outputs(self, text, *inputs, arch="tiny"):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "m.mlir").write_text(text)
            (folder / "in").mkdir()
            for i, array in enumerate(inputs):
                np.save(folder / "in" / f"{i}.npy", array)
            result = tessera("run", folder / "m.mlir", "--arch", arch, "--inputs", folder / "in",
                             "--outputs", folder / "out", "--verify")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            return [np.load(file) for file in sorted((folder / "out").glob("*.npy"))]

    def elementwise(self, op, *arrays, kind="f32", types=None):
        """The result of an operation on whole tensors of one type."""
        n = arrays[0].size
        names = ", ".join(f"%a{i}" for i in range(len(arrays)))
        types = types or [f"tensor<{n}x{kind}>"] * len(arrays)
        signature = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
        shown = types[0] if len(set(types)) == 1 else ", ".join(types)
        return self.outputs(f"func.func @main({signature}) -> {types[0]} {{\n"
                            f"  %r = {op} {names} : {shown}\n  return %r : {types[0]}\n}}\n", *arrays)[0]

    def test_functions_of_one_float(self):
        wide = np.concatenate([RNG.uniform(-30, 30, 40), RNG.uniform(-1e-3, 1e-3, 20), [0]]).astype(np.float32)
        unit = np.append(RNG.uniform(-1, 1, 50), 0).astype(np.float32)
        positive = np.exp(RNG.uniform(-40, 40, 60)).astype(np.float32)
        halves = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388609, -1e10, 0], np.float32)
        for name, x, function in [
                ("tan", unit, math.tan), ("asin", unit, math.asin), ("acos", unit, math.acos),
                ("atan", wide, math.atan), ("sinh", wide, math.sinh), ("cosh", wide, math.cosh),
                ("asinh", wide, math.asinh), ("acosh", 1 + np.abs(wide), math.acosh),
                ("atanh", unit * np.float32(0.9), math.atanh), ("exp2", wide * 4, lambda v: 2.0 ** v),
                ("expm1", wide, math.expm1), ("log1p", np.append(np.abs(wide), unit[:50] * 0.99), math.log1p),
                ("log2", positive, math.log2), ("log10", positive, math.log10),
                ("cbrt", np.append(wide, positive), np.cbrt),
                ("round", halves, lambda v: math.copysign(math.floor(abs(v) + 0.5) if abs(v) < 2 ** 23
                                                          else abs(v), v)
                 if abs(v) != 0.49999997019767761 else math.copysign(0, v))]:
            with self.subTest(name):
                x = x.astype(np.float32)
                got = self.elementwise(f"math.{name}", x)
                # Absolutely where the function passes through 0 or a small value.
                np.testing.assert_allclose(got, apply(function, x).astype(np.float32), 4e-6, 1e-6)
        # Relatively, too, where nothing else would see what is lost.
        small = np.float32(RNG.uniform(1e-6, 1e-4, 32))
        for name, function in [("expm1", np.expm1), ("log1p", np.log1p)]:
            np.testing.assert_allclose(self.elementwise(f"math.{name}", small),
                                       function(small.astype(np.float64)), 1e-6)

    def test_powers(self):
        x = RNG.uniform(-3, 3, 60).astype(np.float32)
        y = np.concatenate([RNG.integers(-4, 5, 40), RNG.uniform(-3, 3, 20)]).astype(np.float32)
        with np.errstate(invalid="ignore"):
            want = np.power(x.astype(np.float64), y)
        np.testing.assert_allclose(self.elementwise("math.powf", x, y), want, 1e-5)
        text = """
func.func @main(%a: tensor<60xf32>) -> tensor<60xf32> {
  %e = arith.constant dense<3.0> : tensor<60xf32>
  %r = math.powf %a, %e : tensor<60xf32>
  return %r : tensor<60xf32>
}
"""
        np.testing.assert_allclose(self.outputs(text, x)[0], x.astype(np.float64) ** 3, 1e-6)
        n = RNG.integers(-3, 4, 60).astype(np.int32)
        got = self.elementwise("math.fpowi", x, n, types=["tensor<60xf32>", "tensor<60xi32>"])
        np.testing.assert_allclose(got, x.astype(np.float64) ** n, 1e-5)

    def test_integers(self):
        edges = np.array([0, 1, -1, 7, -7, 2 ** 31 - 1, -2 ** 31, 1 << 20, 3, -3], np.int32)
        x, y = (v.ravel() for v in np.meshgrid(edges, edges))
        u, v = x.astype(np.uint32).astype(np.int64), y.astype(np.uint32).astype(np.int64)
        nonzero = np.where(y == 0, 1, y).astype(np.int64)
        wide = x.astype(np.int64)
        quotient = np.trunc(wide / nonzero).astype(np.int64)
        # What is undefined elsewhere has a value here: the quotient by 0 is 0.
        zero = np.where(y == 0, 0, quotient).astype(np.int32)
        np.testing.assert_array_equal(self.elementwise("arith.divsi", x, y, kind="i32"), zero)
        rest = (wide - zero.astype(np.int64) * y).astype(np.int32)
        np.testing.assert_array_equal(self.elementwise("arith.remsi", x, y, kind="i32"), rest)
        keep = (y != 0) & ~((x == -2 ** 31) & (y == -1))
        for op, want in [("divui", u // np.where(v == 0, 1, v)), ("remui", u % np.where(v == 0, 1, v)),
                         ("floordivsi", wide // nonzero), ("ceildivsi", -(-wide // nonzero)),
                         ("ceildivui", -(-u // np.where(v == 0, 1, v)))]:
            with self.subTest(op):
                got = self.elementwise(f"arith.{op}", x[keep], y[keep], kind="i32")
                np.testing.assert_array_equal(got, want[keep].astype(np.uint32).astype(np.int32)
                                              if op.endswith("ui") else want[keep].astype(np.int32))
        zeros = [32 - int(n).bit_length() for n in x.astype(np.uint32)]
        np.testing.assert_array_equal(self.elementwise("math.ctlz", x, kind="i32"), zeros)
        trailing = [32 if n == 0 else (int(n) & -int(n)).bit_length() - 1 for n in x.astype(np.uint32)]
        np.testing.assert_array_equal(self.elementwise("math.cttz", x, kind="i32"), trailing)

    def test_reductions(self):
        x = RNG.uniform(0.5, 1.5, (3, 7, 5)).astype(np.float32)
        i = RNG.integers(-9, 9, (3, 7, 5)).astype(np.int32)
        truth = RNG.random((3, 7, 5)) < 0.8
        text = """
func.func @main(%x: tensor<3x7x5xf32>, %i: tensor<3x7x5xi32>, %t: tensor<3x7x5xi1>)
    -> (tensor<3x1x5xf32>, tensor<3x7x1xi1>, tensor<1x7x5xi1>, tensor<7xi32>) {
  %0 = tosa.reduce_product %x {axis = 1 : i32} : (tensor<3x7x5xf32>) -> tensor<3x1x5xf32>
  %1 = tosa.reduce_all %t {axis = 2 : i32} : (tensor<3x7x5xi1>) -> tensor<3x7x1xi1>
  %2 = tosa.reduce_any %t {axis = 0 : i32} : (tensor<3x7x5xi1>) -> tensor<1x7x5xi1>
  %e = tensor.empty() : tensor<7xi32>
  %three = arith.constant 3 : i32
  %f = linalg.fill ins(%three : i32) outs(%e : tensor<7xi32>) -> tensor<7xi32>
  %3 = linalg.reduce ins(%i : tensor<3x7x5xi32>) outs(%f : tensor<7xi32>) dimensions = [0, 2]
    (%a: i32, %b: i32) { %m = arith.muli %a, %b : i32
                         linalg.yield %m : i32 }
  return %0, %1, %2, %3 : tensor<3x1x5xf32>, tensor<3x7x1xi1>, tensor<1x7x5xi1>, tensor<7xi32>
}
"""
        for arch in ("tiny", "edge"):
            product, every, some, whole = self.outputs(text, x, i, truth, arch=arch)
            np.testing.assert_allclose(product, x.astype(np.float64).prod(1, keepdims=True), 1e-5)
            np.testing.assert_array_equal(every.astype(bool), truth.all(2, keepdims=True))
            np.testing.assert_array_equal(some.astype(bool), truth.any(0, keepdims=True))
            np.testing.assert_array_equal(whole, i.prod((0, 2), dtype=np.int32) * np.int32(3))

    def test_products_into_narrow_floats(self):
        """As exporters write a product of f16: its sum is f32 here, and rounded once."""
        for kind, dtype in (("f16", np.float16),):
            a = RNG.uniform(-1, 1, (6, 40)).astype(dtype)
            b = RNG.uniform(-1, 1, (40, 9)).astype(dtype)
            text = f"""
func.func @main(%a: tensor<6x40x{kind}>, %b: tensor<40x9x{kind}>) -> tensor<6x9x{kind}> {{
  %z = arith.constant 0.0 : {kind}
  %e = tensor.empty() : tensor<6x9x{kind}>
  %f = linalg.fill ins(%z : {kind}) outs(%e : tensor<6x9x{kind}>) -> tensor<6x9x{kind}>
  %r = linalg.matmul ins(%a, %b : tensor<6x40x{kind}>, tensor<40x9x{kind}>)
                     outs(%f : tensor<6x9x{kind}>) -> tensor<6x9x{kind}>
  return %r : tensor<6x9x{kind}>
}}
"""
            for arch in ("tiny", "server"):
                (got,) = self.outputs(text, a, b, arch=arch)
                want = a.astype(np.float64) @ b.astype(np.float64)
                np.testing.assert_allclose(got.astype(np.float64), want, 2 ** -10, 2 ** -14)

    def test_average_of_bytes(self):
        """TOSA's integer average: a multiplier and a shift by the window's number of elements,
        rounded half up, between zero points."""
        for batch, in_zero, out_zero, pad in [(1, 5, 5, 1), (2, 5, -7, 1), (1, 0, 0, 0), (2, 0, 3, 0)]:
            with self.subTest(batch=batch, zeros=(in_zero, out_zero), pad=pad):
                self.check_average(batch, in_zero, out_zero, pad)

    def check_average(self, batch, in_zero, out_zero, pad):
        x = RNG.integers(-128, 128, (batch, 9, 7, 3)).astype(np.int8)
        rows, columns = (9 + 2 * pad - 3) // 2 + 1, (7 + 2 * pad - 3) // 2 + 1
        shape = f"tensor<{batch}x{rows}x{columns}x3xi8>"
        text = f"""
func.func @main(%x: tensor<{batch}x9x7x3xi8>) -> {shape} {{
  %i = "tosa.const"() <{{values = dense<{in_zero}> : tensor<1xi8>}}> : () -> tensor<1xi8>
  %o = "tosa.const"() <{{values = dense<{out_zero}> : tensor<1xi8>}}> : () -> tensor<1xi8>
  %r = tosa.avg_pool2d %x, %i, %o {{kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>,
      pad = array<i64: {pad}, {pad}, {pad}, {pad}>, acc_type = i32}}
      : (tensor<{batch}x9x7x3xi8>, tensor<1xi8>, tensor<1xi8>) -> {shape}
  return %r : {shape}
}}
"""
        want = np.zeros((batch, rows, columns, 3), np.int64)
        for row in range(rows):
            for column in range(columns):
                top, left = 2 * row - pad, 2 * column - pad
                window = x[:, max(top, 0):top + 3, max(left, 0):left + 3].astype(np.int64)
                count = window.shape[1] * window.shape[2]
                total = window.sum((1, 2)) - count * in_zero
                k = (count - 1).bit_length()
                multiplier, shift = (((1 << 30) + 1) << k) // count, 30 + k
                mean = (total * multiplier + (1 << (shift - 1))) >> shift
                want[:, row, column] = np.clip(mean + out_zero, -128, 127)
        for arch in ("tiny", "edge", "server"):
            np.testing.assert_array_equal(self.outputs(text, x, arch=arch)[0], want)

    def test_conditions_that_elements_decide(self):
        x, y = (RNG.uniform(-1, 1, (2, 3)).astype(np.float32) for _ in range(2))
        text = """
func.func @main(%c: tensor<i1>, %d: tensor<i1>, %a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = tosa.cond_if %c (%x = %a, %y = %b) : tensor<i1> (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>):
    %0 = tosa.add %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    tosa.yield %0 : tensor<2x3xf32>
  } else {
  ^bb0(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>):
    %0 = tosa.sub %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    tosa.yield %0 : tensor<2x3xf32>
  }
  %t = tensor.extract %d[] : tensor<i1>
  %s = scf.if %t -> tensor<2x3xf32> {
    %0 = tosa.tanh %r : (tensor<2x3xf32>) -> tensor<2x3xf32>
    scf.yield %0 : tensor<2x3xf32>
  } else {
    scf.yield %r : tensor<2x3xf32>
  }
  return %s : tensor<2x3xf32>
}
"""
        for c in (False, True):
            for d in (False, True):
                (got,) = self.outputs(text, np.array(c), np.array(d), x, y)
                want = x + y if c else x - y
                np.testing.assert_allclose(got, np.tanh(want) if d else want, 1e-6)

    def test_gather_beyond_the_end(self):
        x = RNG.uniform(-1, 1, (2, 3, 4)).astype(np.float32)
        at = np.array([[0, 2, 7], [-4, 1, 1 << 30]], np.int32)
        text = """
func.func @main(%x: tensor<2x3x4xf32>, %i: tensor<2x3xi32>) -> tensor<2x3x4xf32> {
  %r = tosa.gather %x, %i : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  return %r : tensor<2x3x4xf32>
}
"""
        want = np.take_along_axis(x, np.clip(at, 0, 2)[..., None], 1)
        np.testing.assert_array_equal(self.outputs(text, x, at)[0], want)


if __name__ == "__main__":
    unittest.main()
