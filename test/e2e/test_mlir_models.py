#!/usr/bin/env python3
"""TOSA and linalg as other tools write them, and expectations inside of a file."""

import pathlib
import tempfile
import unittest

import numpy as np

from common import LLVM_BIN, run, tessera

RNG = np.random.default_rng(12)

# As torch-mlir writes torch.nn.Embedding: positions of 64 bits, and an assertion each.
EMBEDDING = """
#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
func.func @forward(%ids: tensor<2x3xi64>, %table: tensor<5x8xf32>) -> tensor<2x3x8xf32> {
  %c0 = arith.constant 0 : i64
  %c5 = arith.constant 5 : i64
  %e = tensor.empty() : tensor<2x3x8xf32>
  %r = linalg.generic {indexing_maps = [#map, #map1],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%ids : tensor<2x3xi64>) outs(%e : tensor<2x3x8xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %j = linalg.index 2 : index
    %below = arith.cmpi slt, %in, %c5 : i64
    cf.assert %below, "index must be smaller than dim size"
    %above = arith.cmpi sge, %in, %c0 : i64
    cf.assert %above, "index must be larger or equal to 0"
    %x = tensor.extract %table[%i, %j] : tensor<5x8xf32>
    linalg.yield %x : f32
  } -> tensor<2x3x8xf32>
  return %r : tensor<2x3x8xf32>
}
"""

# As torch-mlir writes a softmax (the largest comes with its position), its result and the
# position.
SOFTMAX = """
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0, 0)>
func.func @forward(%x: tensor<4x9xf32>) -> (tensor<4x9xf32>, tensor<4x1xi64>) {
  %c0 = arith.constant 0 : i64
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4x1xi64>
  %f0 = linalg.fill ins(%c0 : i64) outs(%e0 : tensor<4x1xi64>) -> tensor<4x1xi64>
  %e1 = tensor.empty() : tensor<4x1xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %most:2 = linalg.generic {indexing_maps = [#m, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x9xf32>) outs(%f1, %f0 : tensor<4x1xf32>, tensor<4x1xi64>) {
  ^bb0(%in: f32, %o: f32, %oi: i64):
    %i = linalg.index 1 : index
    %ii = arith.index_cast %i : index to i64
    %m = arith.maximumf %in, %o : f32
    %c = arith.cmpf ogt, %in, %o : f32
    %s = arith.select %c, %ii, %oi : i64
    linalg.yield %m, %s : f32, i64
  } -> (tensor<4x1xf32>, tensor<4x1xi64>)
  %e = tensor.empty() : tensor<4x9xf32>
  %s = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]}
      ins(%x, %most#0 : tensor<4x9xf32>, tensor<4x1xf32>) outs(%e : tensor<4x9xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %d = arith.subf %in, %m : f32
    linalg.yield %d : f32
  } -> tensor<4x9xf32>
  %p = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x9xf32>) outs(%e : tensor<4x9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %d = math.exp %in : f32
    linalg.yield %d : f32
  } -> tensor<4x9xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %sum = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<4x9xf32>) outs(%f2 : tensor<4x1xf32>) {
  ^bb0(%in: f32, %o: f32):
    %d = arith.addf %in, %o : f32
    linalg.yield %d : f32
  } -> tensor<4x1xf32>
  %y = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sum : tensor<4x9xf32>, tensor<4x1xf32>) outs(%e : tensor<4x9xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %d = arith.divf %in, %m : f32
    linalg.yield %d : f32
  } -> tensor<4x9xf32>
  return %y, %most#1 : tensor<4x9xf32>, tensor<4x1xi64>
}
"""

# As torch-mlir writes a normalisation: the epsilon keeps Python's double precision.
RMS_NORM = """
#m = affine_map<(d0, d1) -> (d0, d1)>
#r = affine_map<(d0, d1) -> (d0, 0)>
func.func @forward(%x: tensor<5x32xf32>) -> tensor<5x32xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 3.2e+01 : f32
  %eps = arith.constant 1.0000000000000001E-5 : f64
  %e = tensor.empty() : tensor<5x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x1xf32>) -> tensor<5x1xf32>
  %s = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x32xf32>) outs(%f : tensor<5x1xf32>) {
  ^bb0(%in: f32, %o: f32):
    %q = arith.mulf %in, %in : f32
    %d = arith.addf %q, %o : f32
    linalg.yield %d : f32
  } -> tensor<5x1xf32>
  %v = linalg.generic {indexing_maps = [#r, #m], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<5x1xf32>) outs(%e : tensor<5x1xf32>) {
  ^bb0(%in: f32, %o: f32):
    %a = arith.divf %in, %n : f32
    %t = arith.truncf %eps : f64 to f32
    %b = arith.addf %a, %t : f32
    %c = math.rsqrt %b : f32
    linalg.yield %c : f32
  } -> tensor<5x1xf32>
  %e2 = tensor.empty() : tensor<5x32xf32>
  %y = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]}
      ins(%x, %v : tensor<5x32xf32>, tensor<5x1xf32>) outs(%e2 : tensor<5x32xf32>) {
  ^bb0(%in: f32, %k: f32, %out: f32):
    %d = arith.mulf %in, %k : f32
    linalg.yield %d : f32
  } -> tensor<5x32xf32>
  return %y : tensor<5x32xf32>
}
"""

# Calls, loops with constant bounds, one inside the other, and a constant condition.
STRUCTURE = """
func.func private @grow(%x: tensor<4xf32>, %by: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tosa.add %x, %by : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %true = arith.constant true
  %one = "tosa.const"() <{values = dense<1.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %r = scf.for %i = %c1 to %c7 step %c2 iter_args(%a = %x) -> tensor<4xf32> {
    %inner = scf.for %j = %c0 to %c2 step %c1 iter_args(%b = %a) -> tensor<4xf32> {
      %0 = func.call @grow(%b, %one) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      scf.yield %0 : tensor<4xf32>
    }
    %picked = scf.if %true -> tensor<4xf32> {
      %0 = tosa.tanh %inner : (tensor<4xf32>) -> tensor<4xf32>
      scf.yield %0 : tensor<4xf32>
    } else {
      scf.yield %inner : tensor<4xf32>
    }
    scf.yield %picked : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""

WIDE = """
func.func @main(%a: tensor<6xi64>, %b: tensor<6xi64>) -> (tensor<6xi64>, tensor<6xi1>) {
  %0 = tosa.add %a, %b : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %1 = tosa.greater %a, %b : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi1>
  return %0, %1 : tensor<6xi64>, tensor<6xi1>
}
"""

CHECKED = """func.func @main(%x: tensor<2x3xf32>, %i: tensor<3xi64>) -> tensor<2x3xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %y = tosa.mul %x, %x, %shift : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<1xi8>) -> tensor<2x3xf32>
  %want = arith.constant dense<[[1.0, 4.0, 9.0], [16.0, 25.0, FLOAT]]> : tensor<2x3xf32>
  check.expect_close(%y, %want) {atol = 0.0, rtol = 1.0e-3} : tensor<2x3xf32>
  %whole = arith.constant dense<[1, -2, INTEGER]> : tensor<3xi64>
  check.expect_eq(%i, %whole) : tensor<3xi64>
  %z = tosa.negate %y, %zero, %zero : (tensor<2x3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}
"""


class MlirModels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tmp = pathlib.Path(self.folder.name)

    def run_text(self, text, *inputs, options=("--verify",), name="m.mlir"):
        (self.tmp / "m.mlir").write_text(text)
        if name.endswith("bc"):
            made = run(LLVM_BIN / "mlir-opt", "--emit-bytecode", self.tmp / "m.mlir", "-o", self.tmp / name)
            self.assertEqual(made.returncode, 0, made.stderr)
        arguments = []
        if inputs:
            (self.tmp / "in").mkdir(exist_ok=True)
            for i, array in enumerate(inputs):
                np.save(self.tmp / "in" / f"{i}.npy", array)
            arguments = ["--inputs", self.tmp / "in"]
        return tessera("run", self.tmp / name, "--arch", "tiny", *arguments, *options,
                       "--outputs", self.tmp / "out")

    def outputs(self, text, *inputs, **more):
        result = self.run_text(text, *inputs, **more)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return [np.load(file) for file in sorted((self.tmp / "out").glob("*.npy"))]

    def test_embedding(self):
        table = RNG.uniform(-1, 1, (5, 8)).astype(np.float32)
        # Positions outside are the nearest ones inside, of whatever size.
        ids = np.array([[0, 4, 2], [-1, 1 << 40, -(1 << 62)]], np.int64)
        for name in ("m.mlir", "m.mlirbc"):
            (y,) = self.outputs(EMBEDDING, ids, table, name=name)
            np.testing.assert_array_equal(y, table[np.clip(ids, 0, 4)])

    def test_softmax_with_positions(self):
        x = RNG.uniform(-3, 3, (4, 9)).astype(np.float32)
        y, at = self.outputs(SOFTMAX, x)
        e = np.exp(x.astype(np.float64))
        np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), 1e-5)
        self.assertEqual(at.dtype, np.int64)
        np.testing.assert_array_equal(at, x.argmax(1)[:, None])

    def test_numbers_of_double_precision(self):
        x = RNG.uniform(-1e-2, 1e-2, (5, 32)).astype(np.float32)
        (y,) = self.outputs(RMS_NORM, x)
        wide = x.astype(np.float64)
        np.testing.assert_allclose(y, wide / np.sqrt((wide ** 2).mean(1, keepdims=True) + 1e-5), 1e-5)

    def test_calls_and_counted_loops(self):
        x = RNG.uniform(-1, 1, 4).astype(np.float32)
        (y,) = self.outputs(STRUCTURE, x)
        want = x.astype(np.float64)
        for _ in range(3):
            want = np.tanh(want + 2)
        np.testing.assert_allclose(y, want, 1e-5)

    def test_integers_of_64_bits(self):
        a = RNG.integers(-1 << 62, 1 << 62, 6)
        b = np.array([1, -1, 1 << 61, 7, -(1 << 40), 0])
        total, greater = self.outputs(WIDE, a, b)
        np.testing.assert_array_equal(total, a + b)
        np.testing.assert_array_equal(greater.astype(bool), a > b)

    def test_control_flow_that_values_decide(self):
        loop = STRUCTURE.replace("func.func @main(%x: tensor<4xf32>)",
                                 "func.func @main(%x: tensor<4xf32>, %n: tensor<index>)")
        result = self.run_text(loop.replace("%c7 = arith.constant 7 : index",
                                            "%c7 = tensor.extract %n[] : tensor<index>"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("m.mlir", result.stderr)
        self.assertIn("control flow that values decide; accepted are loops with constant bounds",
                      result.stderr)
        endless = STRUCTURE.replace("constant 7 : index", "constant 9000000000 : index")
        result = self.run_text(endless)
        self.assertEqual(result.returncode, 1)
        self.assertIn("'scf.for' (line 13): runs 4500000000 times; accepted are 4096", result.stderr)

    def checked(self, floating, integer, *options):
        x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
        text = CHECKED.replace("FLOAT", floating).replace("INTEGER", integer)
        return self.run_text(text, x, np.array([1, -2, 1 << 60]), options=options)

    def test_expectations(self):
        for options in ((), ("--verify",), ("--verify=each",)):
            result = self.checked("36.03", str(1 << 60), *options)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("2 of 2 expectations of the model hold.", result.stdout)
        # The model's own outputs are all that is written.
        self.assertEqual([f.name for f in (self.tmp / "out").glob("*.npy")], ["0.npy"])
        np.testing.assert_array_equal(np.load(self.tmp / "out" / "0.npy"),
                                      -np.array([[1, 4, 9], [16, 25, 36]], np.float32))

    def test_expectations_that_do_not_hold(self):
        for floating, integer, wanted in [
                ("36.04", str(1 << 60), ["check.expect_close (line 6): 1 of 6 elements depart, "
                                         "first [1, 2]: 36, expected 36.0400009; accepted are "
                                         "differences of at most 0 + 0.001 * |expected|"]),
                ("0x7FC00000", str(1 << 60), ["first [1, 2]: 36, expected nan"]),
                # Equal as doubles.
                ("36.0", str((1 << 60) + 1), ["check.expect_eq (line 8): 1 of 3 elements depart, first [2]"]),
                ("0x7F800000", "0", ["check.expect_close (line 6)", "check.expect_eq (line 8)"])]:
            result = self.checked(floating, integer)
            self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
            self.assertEqual(result.stderr.count("\n"), len(wanted), result.stderr)
            for text in wanted:
                self.assertIn(text, result.stderr)

    def test_expectations_are_checked(self):
        for text, wanted in [
                ("check.expect_close(%x, %x) {atol = -1.0} : tensor<2xf32>", "atol must be a number"),
                ("check.expect_close(%x, %x) {rtol = 0x7FF8000000000000 : f64} : tensor<2xf32>", "rtol must"),
                ("check.expect_close(%i, %i) : tensor<2xi32>", "must be"),
                ("check.expect_else(%i, %i) : tensor<2xi32>", "check.expect_else")]:
            result = self.run_text("func.func @main(%x: tensor<2xf32>, %i: tensor<2xi32>) {\n  "
                                   + text + "\n  return\n}\n")
            self.assertEqual(result.returncode, 1, text)
            self.assertIn("m.mlir:2: ", result.stderr)
            self.assertIn(wanted, result.stderr)


if __name__ == "__main__":
    unittest.main()
