#!/usr/bin/env python3
"""Model files that are broken or malicious: one error, within a second of processor
time and 200 MB."""

import os
import pathlib
import re
import tempfile
import unittest

import numpy as np

from common import BIN, DIGITS, LLVM_BIN, run
from onnx_writer import Graph, block, number, value_info

SECONDS, BYTES = 1.0, 200 << 20
NETWORK = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %table = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %e = tensor.empty() : tensor<4x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x5xf32>) -> tensor<4x5xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x5xf32>) outs(%f : tensor<4x5xf32>) -> tensor<4x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%p, %b, %table : tensor<4x5xf32>, tensor<5xf32>, tensor<5xf32>) outs(%e : tensor<4x5xf32>) {
  ^bb0(%a: f32, %c: f32, %t: f32, %old: f32):
    %s = arith.addf %a, %c : f32
    %m = arith.mulf %s, %t : f32
    linalg.yield %m : f32
  } -> tensor<4x5xf32>
  %sum = tosa.exp %r : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %sum : tensor<4x5xf32>
}
"""


def spawn(folder, *arguments):
    """Status, text of stderr, processor seconds and largest resident bytes of a run."""
    errors = folder / "stderr.txt"
    with open(errors, "wb") as log, open(os.devnull, "r+b") as null:
        pid = os.posix_spawn(BIN / "tessera", ["tessera", *map(str, arguments)], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, null.fileno(), 0),
                                           (os.POSIX_SPAWN_DUP2, null.fileno(), 1),
                                           (os.POSIX_SPAWN_DUP2, log.fileno(), 2)])
        _, status, usage = os.wait4(pid, 0)
    return (os.waitstatus_to_exitcode(status), errors.read_text(errors="replace"),
            usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def external(location, **more):
    """An initializer "w", float [4], whose bytes are in another file."""
    fields = {"location": location, **more}
    entries = b"".join(block(13, block(1, k) + block(2, str(v))) for k, v in fields.items())
    return block(5, number(1, 4) + number(2, 1) + block(8, "w") + entries + number(14, 1))


class HostileModels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tmp = pathlib.Path(self.folder.name)

    def check(self, data, wanted, name="m.onnx"):
        (self.tmp / name).write_bytes(data)
        for command in (["run"], ["compile", "-o", self.tmp / "m.tsr"]):
            status, errors, seconds, resident = spawn(self.tmp, *command, self.tmp / name)
            self.assertEqual(status, 1, f"{command}: {errors[:500]}")
            self.assertTrue(errors.startswith("error: "), errors[:500])
            self.assertTrue(re.search(wanted, errors), errors[:500])
            self.assertLess(len(errors), 4000)
            self.assertLess(seconds, SECONDS, errors[:200])
            self.assertLess(resident, BYTES, errors[:200])
        self.assertFalse((self.tmp / "m.tsr").exists())

    def graph(self, *nodes, shape=(4,), inputs=True):
        """x -> the nodes, each (operator, operands, result, attributes) -> y."""
        graph = Graph(17, "hostile")
        if inputs:
            graph.input("x", "float32", shape)
        for op, operands, result, attributes in nodes:
            graph.node(op, operands, result, **attributes)
        graph.outputs.append(block(12, value_info("y", "float32", shape)))
        return graph

    def test_truncated(self):
        data = DIGITS.read_bytes()
        for size in [0, 1, 7, 100, 1000, len(data) // 2, len(data) - 1]:
            with self.subTest(size=size):
                self.check(data[:size], "m.onnx")

    def test_noise(self):
        rng = np.random.default_rng(5)
        for size in (3, 100, 10000):
            self.check(rng.integers(0, 256, size, np.uint8).tobytes(), "m.onnx")
            self.check(rng.integers(0, 256, size, np.uint8).tobytes(), "m.mlir", "m.mlir")
            self.check(b"ML\xefR" + rng.integers(0, 256, size, np.uint8).tobytes(), "m.mlirbc",
                       "m.mlirbc")

    def test_damaged_bytecode(self):
        """Upstream's reader ends its process on some such files, on the last but three of these."""
        (self.tmp / "m.mlir").write_text(NETWORK)
        made = run(LLVM_BIN / "mlir-opt", "--emit-bytecode", self.tmp / "m.mlir", "-o", self.tmp / "whole")
        self.assertEqual(made.returncode, 0, made.stderr)
        whole, rng = (self.tmp / "whole").read_bytes(), np.random.default_rng(8)
        self.assertEqual(spawn(self.tmp, "compile", self.tmp / "whole", "-o", self.tmp / "w.tsr")[0], 0)
        for turn in range(241):
            data = np.frombuffer(whole, np.uint8).copy()
            places = rng.integers(len(data), size=rng.choice([1, 1, 2, 8]))
            data[places] = rng.integers(0, 256, len(places))
            size = rng.integers(len(data)) if turn % 8 == 0 else len(data)
            if turn < 190:
                continue
            (self.tmp / "m.mlirbc").write_bytes(data.tobytes()[:size])
            status, errors, seconds, resident = spawn(
                self.tmp, "compile", self.tmp / "m.mlirbc", "-o", self.tmp / "m.tsr")
            with self.subTest(turn=turn):
                # What is damaged may still be a model.
                self.assertIn(status, (0, 1), errors[:500])
                self.assertEqual(errors.startswith("error: "), status == 1, errors[:500])
                self.assertLess(seconds, SECONDS)
                self.assertLess(resident, BYTES)

    def test_deep_text(self):
        depth = 100000
        for text in ("module {" * depth + "}" * depth,
                     "func.func @main(%x: " + "tuple<" * depth + "f32" + ">" * depth + ") { return }",
                     "func.func @main() attributes {a = " + "[" * depth + "]" * depth + "} { return }"):
            self.check(text.encode(), "nests too deep", "m.mlir")

    def test_cycles_and_names(self):
        self.check(self.graph(("Relu", ["y"], "y", {})).bytes(), "Relu_0.*depends on its own")
        self.check(self.graph(("Add", ["x", "b"], "a", {}), ("Relu", ["a"], "b", {}),
                              ("Relu", ["b"], "y", {})).bytes(), "depends on its own")
        self.check(self.graph(("Add", ["x", "nowhere"], "y", {})).bytes(), "'nowhere'")
        self.check(self.graph(("Relu", ["x"], "y", {}), ("Abs", ["x"], "y", {})).bytes(), "'y'")
        self.check(self.graph(("Relu", ["x"], "z", {})).bytes(), "'y'")

    def test_sizes(self):
        huge = 1 << 40
        # The last one is a prime.
        for shape in [(1 << 62, 1 << 62), (huge, huge), (-5,), (1 << 63, 2), (huge,),
                      (huge - 87,)]:
            with self.subTest(shape=shape):
                self.check(self.graph(("Relu", ["x"], "y", {}), shape=shape).bytes(), "x|bytes")

        def weights(op, values, *more, **attributes):
            graph = self.graph()
            graph.weight("s", np.array(values, np.int64))
            graph.node(op, ["x", "s", *more], "y", **attributes)
            return graph.bytes()
        self.check(weights("Expand", [huge, 4]), "Expand")
        self.check(weights("Tile", [huge]), "Tile")
        self.check(weights("Pad", [huge, huge]), "Pad")
        self.check(weights("Reshape", [huge, -1]), "Reshape")
        graph = self.graph(inputs=False)
        graph.weight("s", np.array([huge], np.int64))
        graph.node("ConstantOfShape", ["s"], "y")
        self.check(graph.bytes(), "ConstantOfShape|bytes")

    def test_trip_count(self):
        graph = self.graph()
        graph.weight("n", np.array(1 << 40, np.int64))
        body = (block(1, block(1, "v") + block(2, "w") + block(4, "Relu")) + block(2, "body") +
                block(11, value_info("i", "int64", [])) + block(11, value_info("c", "bool", [])) +
                block(11, value_info("v", "float32", [4])) +
                block(12, value_info("c", "bool", [])) + block(12, value_info("w", "float32", [4])))
        loop = block(1, "n") + block(1, "") + block(1, "x") + block(2, "y") + block(4, "Loop")
        graph.nodes.append(block(1, loop + block(5, block(1, "body") + block(6, body) +
                                                 number(20, 5))))
        self.check(graph.bytes(), "Loop")

    def test_deep_nesting(self):
        inner = block(1, block(1, "x") + block(2, "y") + block(4, "Relu"))
        for _ in range(200):
            graph = inner + block(2, "g") + block(12, value_info("y", "float32", [4]))
            inner = block(1, block(1, "c") + block(2, "y") + block(4, "If") +
                          block(5, block(1, "then_branch") + block(6, graph) + number(20, 5)) +
                          block(5, block(1, "else_branch") + block(6, graph[:0]) + number(20, 5)))
        graph = self.graph()
        graph.weight("c", np.array(True))
        graph.nodes.append(inner)
        self.check(graph.bytes(), "m.onnx|If")

    def test_external_data(self):
        (self.tmp / "secret").write_bytes(bytes(16))
        (self.tmp / "inner").mkdir()
        (self.tmp / "inner" / "link").symlink_to(self.tmp / "secret")
        (self.tmp / "inner" / "data").write_bytes(bytes(16))

        def model(*arguments, **fields):
            graph = self.graph(("Add", ["x", "w"], "y", {}))
            graph.weights["w"] = external(*arguments, **fields)
            return graph.bytes()
        for location in ["../secret", "/etc/passwd", str(self.tmp / "secret"), "a/../../secret",
                         "missing", "link", ".", ""]:
            with self.subTest(location):
                self.check(model(location), "external|'w'|data", "inner/m.onnx")
        for fields in [{"offset": 8}, {"offset": 1 << 62}, {"offset": -8}, {"length": 1 << 62},
                       {"length": 8}, {"offset": "x"}]:
            with self.subTest(fields):
                self.check(model("data", **fields), "'w'|data", "inner/m.onnx")


if __name__ == "__main__":
    unittest.main()
