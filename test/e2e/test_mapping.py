#!/usr/bin/env python3
"""What the compiler expects of its plans against what the simulator measures."""

import json
import pathlib
import statistics
import sys
import tempfile
import unittest

from common import ROOT, tessera

sys.path.insert(0, str(ROOT / "test" / "bench" / "models"))
import gemm  # noqa: E402
import workloads  # noqa: E402

# Large and small, square and thin, in and out of memory's reach.
PRODUCTS = [(256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (1, 4096, 4096),
            (16, 1024, 1024), (4096, 64, 1024), (127, 509, 1021), (512, 768, 3072)]
# All shapes of convolutions that it has.
MODEL = "resnet50_b1"
# In kernels of fewer cycles, latencies that the estimate has as constants weigh more.
SHORTEST = 2000
# Of the simulated cycles: the median, and the most.
LIMITS = {"edge": (0.12, 0.60), "tpuv4like": (0.20, 0.60), "server": (0.28, 0.60)}


class Mapping(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def explain(self, name, content, arch):
        """The dispatches of a timed run."""
        model, report = self.path(name), self.path("report.json")
        model.write_bytes(content)
        result = tessera("run", model, "--arch", arch, "--timing-only", "--explain",
                         "--json", report)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("expected cycles are off by", result.stdout)
        return json.loads(report.read_text())["dispatches"]

    def check(self, arch):
        models = [(f"{gemm.name(*size)}.mlir", gemm.text(*size, "bf16").encode())
                  for size in PRODUCTS]
        models.append((f"{MODEL}.onnx", workloads.build(MODEL, "bf16")[1]))
        errors = {}
        for name, content in models:
            for dispatch in self.explain(name, content, arch):
                self.assertIsNotNone(dispatch["mapping"], f"{name}: {dispatch['name']}")
                simulated = dispatch["kernel_cycles"] / dispatch["runs"]
                expected = dispatch["mapping"]["expected_cycles"]
                if dispatch["runner_up"]:
                    self.assertGreaterEqual(dispatch["runner_up"]["expected_cycles"], expected)
                if simulated >= SHORTEST:
                    errors[name, dispatch["name"]] = abs(expected / simulated - 1)
        worst = max(errors, key=errors.get)
        median, most = LIMITS[arch]
        self.assertLessEqual(statistics.median(errors.values()), median)
        self.assertLessEqual(errors[worst], most, worst)

    def test_edge(self):
        self.check("edge")

    def test_server(self):
        self.check("server")

    def test_tpuv4like(self):
        self.check("tpuv4like")

    def test_explain_of_a_compilation(self):
        model = self.path("p.mlir")
        model.write_text(gemm.text(64, 64, 64, "bf16"))
        result = tessera("compile", model, "--arch", "tiny", "-o", self.path("p.tsr"), "--explain")
        self.assertEqual(result.returncode, 0, result.stderr)
        for word in ("plan", "bound", "expected", "runner-up"):
            self.assertIn(f"\n  {word} ", result.stdout)
        # 64³ multiplications by 64 a cycle.
        self.assertIn("4,096 cycles, limited by matrix", result.stdout)

    def test_explain_needs_an_object(self):
        model = self.path("p.mlir")
        model.write_text(gemm.text(8, 8, 8, "f32"))
        result = tessera("compile", model, "-o", self.path("p.mlir.txt"), "--emit=tile",
                         "--explain")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--emit=object", result.stderr)

    def test_equal_dispatches_share_a_kernel(self):
        """Twelve layers have the kernels of one."""
        kernels = {}
        for layers in (1, 4):
            content = workloads.transformer.bert("bf16", tokens=24, layers=layers, features=48,
                                                 count=4).bytes("bert")
            dispatches = self.explain("bert.onnx", content, "tiny")
            kernels[layers] = {dispatch["name"] for dispatch in dispatches}
            self.assertGreaterEqual(len(dispatches), 8 * layers)
        self.assertLessEqual(len(kernels[4]), len(kernels[1]) + 4)


if __name__ == "__main__":
    unittest.main()
