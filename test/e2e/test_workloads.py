#!/usr/bin/env python3
"""The benchmark workloads at reduced size, checked by values in bf16 and f32."""

import json
import pathlib
import sys
import tempfile
import unittest

from common import ROOT, tessera

sys.path.insert(0, str(ROOT / "test" / "bench" / "models"))
import workloads  # noqa: E402

# Each topology once: names that differ in size only are alike when reduced.
NAMES = ["resnet50_b8", "mobilenetv2", "unet_block", "vit_b16", "bert_base_128", "gpt2_prefill",
         "gpt2_decode", "llama7b_layer_prefill", "llama3_8b_layer_prefill",
         "llama3_8b_layer_decode_b8", "mixtral_layer_prefill", "dlrm_b128"]


class Workloads(unittest.TestCase):
    def check(self, arch, element, names):
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                with self.subTest(name=name):
                    suffix, data = workloads.build(name, element, reduced=True)
                    model = pathlib.Path(folder) / (name + suffix)
                    model.write_bytes(data)
                    result = tessera("run", model, "--arch", arch, "--verify")
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_bf16_on_edge(self):
        self.check("edge", "bf16", NAMES)

    def test_f32_on_server(self):
        self.check("server", "f32", ["resnet50_b8", "llama3_8b_layer_decode_b8", "bert_base_128"])

    def test_floor_knows_the_stored_format(self):
        """Narrow operands are counted as such, although importers widen them."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("resnet50_b1", "bert_base_128", "llama3_8b_layer_prefill"):
                cycles = {}
                for element in ("bf16", "f32"):
                    suffix, data = workloads.build(name, element, reduced=True)
                    model = pathlib.Path(folder) / (name + suffix)
                    model.write_bytes(data)
                    report = pathlib.Path(folder) / "report.json"
                    result = tessera("run", model, "--arch", "edge", "--timing-only",
                                     "--json", report)
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    run = json.loads(report.read_text())
                    bound = run["bound"]
                    self.assertLessEqual(bound["efficiency"], 1)
                    # Work is charged to the dispatch that does it, not to one that pads or packs for it.
                    for dispatch in run["dispatches"]:
                        self.assertLessEqual(dispatch["bound_cycles"], dispatch["cycles"], dispatch["name"])
                    cycles[element] = bound["matrix_cycles"]
                self.assertLess(cycles["bf16"], 0.6 * cycles["f32"], name)

    def test_names_and_sizes(self):
        """Every workload builds, at reduced size, under its own name."""
        names = workloads.names()
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertGreater(len(workloads.build(name, reduced=True)[1]), 100)


if __name__ == "__main__":
    unittest.main()
