#!/usr/bin/env python3
"""tessera generate: text from the device is NumPy's, and what is printed adds up."""

import json
import pathlib
import tempfile
import unittest

import numpy as np

from common import ROOT, tessera
from onnx_writer import Graph

MODEL = ROOT / "test" / "e2e" / "models" / "primer.onnx"
CASES = json.loads((ROOT / "test" / "e2e" / "models" / "primer.expected.json").read_text())


class Generate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tmp = pathlib.Path(self.folder.name)

    def generate(self, prompt, tokens, *more, model=MODEL):
        result = tessera("generate", model, "--prompt", prompt, "--tokens", tokens,
                         "--json", self.tmp / "r.json", *more)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return json.loads((self.tmp / "r.json").read_text()), result.stdout

    def test_text_is_what_numpy_writes(self):
        case = CASES[0]
        report, printed = self.generate(case["prompt"], 24, "--verify")
        self.assertEqual(report["text"], case["text"][:24])
        self.assertTrue(printed.startswith(case["prompt"] + case["text"][:24] + "\n"))
        self.assertEqual(report["tokens"], list(case["text"][:24].encode()))
        self.assertEqual(report["verification"]["equal_tokens"], 24)
        # Scores agree far closer than the choices are.
        lead = min(call["lead"] for call in report["calls"])
        self.assertLess(report["verification"]["max_score_difference"], lead / 10)

    def test_other_architecture_and_prompts(self):
        for case in CASES[1:3]:
            report, _ = self.generate(case["prompt"], 6, "--arch", "tiny")
            self.assertEqual(report["text"], case["text"][:6])

    def test_prompt_at_once_and_token_by_token(self):
        case = CASES[0]
        prompt = case["prompt"]
        at_once, _ = self.generate(prompt, 4)
        single, _ = self.generate(prompt, 4, "--dim", "S=1")
        self.assertEqual([c["tokens"] for c in at_once["calls"]], [len(prompt), 1, 1, 1])
        self.assertEqual([c["tokens"] for c in single["calls"]], [1] * (len(prompt) + 3))
        self.assertEqual([c["token"] for c in single["calls"]][:len(prompt) - 1],
                         [None] * (len(prompt) - 1))
        self.assertEqual(at_once["tokens"], single["tokens"])
        self.assertLess(at_once["time_to_first_token_us"], single["time_to_first_token_us"])

    def test_figures_add_up(self):
        report, _ = self.generate("one", 5)
        first, *decode = report["calls"]
        cycles = sum(call["cycles"] for call in decode)
        moved = sum(c["dram_bytes_read"] + c["dram_bytes_written"] for c in decode)
        self.assertEqual(report["decode_calls"], 4)
        self.assertEqual(report["decode_cycles"], cycles)
        self.assertEqual(report["decode_dram_bytes"], moved)
        ns = cycles / report["clock_ghz"]
        self.assertAlmostEqual(report["tokens_per_s"], 4 / ns * 1e9, places=3)
        self.assertAlmostEqual(report["dram_bandwidth_gbps"], moved / ns, places=6)
        self.assertAlmostEqual(report["time_to_first_token_us"], first["time_us"], places=6)
        self.assertLess(report["tokens_per_s"], report["bound_tokens_per_s"])
        # Two layers of keys and values: [1, 4, 64, 32] of f32.
        self.assertEqual(report["state_bytes"], 2 * 2 * 4 * 64 * 32 * 4)
        # Each call reads all weights and every state: nothing of them is the host's.
        weights = 2 * (4 * 128 * 128 + 3 * 128 * 256) * 4
        for call in decode:
            self.assertGreater(call["dram_bytes_read"], weights + report["state_bytes"])

    def test_same_bytes_every_time(self):
        self.generate("two", 3)
        once = (self.tmp / "r.json").read_bytes()
        self.generate("two", 3)
        self.assertEqual(once, (self.tmp / "r.json").read_bytes())

    def check_error(self, status, wanted, *arguments):
        result = tessera("generate", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(wanted, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_errors(self):
        self.check_error(2, "one of --prompt and --prompt-tokens is needed", MODEL)
        self.check_error(2, "one of --prompt and --prompt-tokens is needed", MODEL,
                         "--prompt", "a", "--prompt-tokens", "1")
        self.check_error(2, "--prompt is empty", MODEL, "--prompt", "")
        self.check_error(2, "--tokens", MODEL, "--prompt", "a", "--tokens", "0")
        self.check_error(1, "--prompt-tokens 1,x: accepted are numbers", MODEL,
                         "--prompt-tokens", "1,x")
        self.check_error(1, "token 195 of the prompt; accepted are those from 0 to 127", MODEL,
                         "--prompt", "\u00e9")
        self.check_error(1, "take 65 positions; the caches have room for 64", MODEL,
                         "--prompt", "a", "--tokens", "65")
        self.check_error(1, "takes 5 tokens, not 1", MODEL, "--prompt", "a", "--dim", "S=5")

    def test_models_that_cannot_write(self):
        digits = ROOT / "test" / "e2e" / "models" / "digits.onnx"
        self.check_error(1, "input 'image' is of no known use", digits, "--prompt", "a",
                         "--dim", "N=1")
        graph = Graph(17, "no state")
        graph.input("input_ids", "int64", [1, 1])
        table = graph.weight("table", np.zeros((128, 128), np.float32))
        graph.output("logits", graph.node("Gather", [table, "input_ids"]), "float32",
                     [1, 1, 128])
        (self.tmp / "m.onnx").write_bytes(graph.bytes())
        self.check_error(1, "the model has no state", self.tmp / "m.onnx", "--prompt", "a")


if __name__ == "__main__":
    unittest.main()
