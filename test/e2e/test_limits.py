#!/usr/bin/env python3
"""Models at the edges: what does not fit or cannot run is one clear line; floors
count nothing that a compiler may leave out; outputs go where they are sent."""

import json
import os
import pathlib
import tempfile
import threading
import unittest

from common import run, tessera

SAME_RESULT_TWICE = """
func.func @main(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %r = linalg.exp ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  // Folds to its operand, late.
  %t = linalg.transpose ins(%r : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) permutation = [0, 1]
  return %r, %r, %x, %t : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
"""
MATMUL = """
func.func @main(%a: tensor<16x32xf32>, %b: tensor<32x8xf32>) -> tensor<16x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
"""
# Of a million elements, one in 1,024 is read; another input and a product are not needed.
MOSTLY_UNREAD = """
#pick = affine_map<(d0, d1) -> (d0 * 32, d1 * 32)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<1024x1024xf32>, %unread: tensor<1024x1024xf32>) -> tensor<32x32xf32> {
  %z = arith.constant 0.0 : f32
  %big = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%big : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %dead = linalg.matmul ins(%x, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %e = tensor.empty() : tensor<32x32xf32>
  %s = tensor.extract_slice %x[0, 0] [993, 993] [1, 1] : tensor<1024x1024xf32> to tensor<993x993xf32>
  %r = linalg.generic {indexing_maps = [#pick, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<993x993xf32>) outs(%e : tensor<32x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}
"""
HUGE = """
func.func @main(%x: tensor<1048576x8192xf32>) -> tensor<1048576x8192xf32> {
  %e = tensor.empty() : tensor<1048576x8192xf32>
  %r = linalg.exp ins(%x : tensor<1048576x8192xf32>) outs(%e : tensor<1048576x8192xf32>) -> tensor<1048576x8192xf32>
  return %r : tensor<1048576x8192xf32>
}
"""
# One output channel a group: seven loops of more than one step, a descriptor has six.
SEVEN_LOOPS = """
func.func @main(%x: tensor<2x3x2x18x9xf32>, %w: tensor<1x3x2x3x3xf32>) -> tensor<2x1x3x16x7xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x1x3x16x7xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x1x3x16x7xf32>) -> tensor<2x1x3x16x7xf32>
  %r = linalg.generic {indexing_maps = [
        affine_map<(n, f, g, h, w, c, kh, kw) -> (n, g, c, h + kh, w + kw)>,
        affine_map<(n, f, g, h, w, c, kh, kw) -> (f, g, c, kh, kw)>,
        affine_map<(n, f, g, h, w, c, kh, kw) -> (n, f, g, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<2x3x2x18x9xf32>, tensor<1x3x2x3x3xf32>) outs(%f : tensor<2x1x3x16x7xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x1x3x16x7xf32>
  return %r : tensor<2x1x3x16x7xf32>
}
"""
NO_RESULT = "func.func @main(%x: tensor<4xf32>) { return }\n"


class Limits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tmp = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def model(self, text):
        path = self.tmp / "model.mlir"
        path.write_text(text)
        return path

    def refused(self, text, arch, *words):
        result = tessera("run", self.model(text), "--arch", arch, "--outputs", self.tmp / "out")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("error: "), result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertFalse((self.tmp / "out").exists())

    def test_same_result_twice(self):
        result = tessera("run", self.model(SAME_RESULT_TWICE), "--arch", "tiny", "--verify")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_more_loops_than_a_descriptor_has_dimensions(self):
        for arch in ("tiny", "edge", "server"):
            with self.subTest(arch=arch):
                result = tessera("run", self.model(SEVEN_LOOPS), "--arch", arch, "--verify")
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_format_without_a_rate(self):
        self.refused(MATMUL, "gemmini16", "f32", "i8")

    def test_more_than_the_memory(self):
        self.refused(HUGE, "tiny", str(2 * 4 << 33), "DRAM")

    def test_no_result(self):
        self.refused(NO_RESULT, "tiny", "no outputs")

    def test_floors_count_what_is_needed(self):
        for arch in ("tiny", "edge", "server"):
            with self.subTest(arch=arch):
                report = self.tmp / "report.json"
                result = tessera("run", self.model(MOSTLY_UNREAD), "--arch", arch,
                                 "--verify", "--json", report)
                self.assertEqual(result.returncode, 0, result.stderr)
                figures = json.loads(report.read_text())
                self.assertLessEqual(figures["bound"]["efficiency"], 1)
                self.assertEqual(figures["matrix"]["macs"], 0)

    def test_sums_over_dispatches(self):
        report = self.tmp / "report.json"
        result = tessera("run", self.model(MATMUL), "--arch", "tiny", "--json", report)
        self.assertEqual(result.returncode, 0, result.stderr)
        figures = json.loads(report.read_text())
        self.assertEqual(sum(d["macs"] for d in figures["dispatches"]), figures["matrix"]["macs"])

    def test_pipe_and_link_keep_their_identity(self):
        model = self.model(MATMUL)
        pipe, link, target = self.tmp / "pipe", self.tmp / "link", self.tmp / "target"
        os.mkfifo(pipe)
        link.symlink_to(target)
        target.write_text("old")
        got = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
        reader.start()
        for path in (pipe, link):
            result = tessera("run", model, "--arch", "tiny", "--json", path)
            self.assertEqual(result.returncode, 0, result.stderr)
        reader.join(timeout=30)
        self.assertEqual(json.loads(got[0])["arch"], "tiny")
        self.assertTrue(pipe.is_fifo())
        self.assertTrue(link.is_symlink())
        self.assertEqual(json.loads(target.read_text())["arch"], "tiny")

    def test_folder_with_a_slash(self):
        result = tessera("run", self.model(MATMUL), "--arch", "tiny",
                         "--outputs", str(self.tmp / "new") + "/")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.tmp / "new" / "0.npy").exists())


if __name__ == "__main__":
    unittest.main()
