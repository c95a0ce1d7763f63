#!/usr/bin/env python3
"""Plans chosen by simulation, and files of plans."""

import json
import pathlib
import sys
import tempfile
import unittest

from common import ROOT, tessera

sys.path.insert(0, str(ROOT / "test" / "bench" / "models"))
import gemm  # noqa: E402


class AutotuneTest(unittest.TestCase):
    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = self.path("p.mlir")
        self.model.write_text(gemm.text(200, 96, 300, "bf16"))
        self.plans = self.path("p.plans")

    def run_model(self, *options):
        report = self.path("report.json")
        result = tessera("run", self.model, "--arch", "tiny", "--json", report, *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(report.read_text()), result

    def test_no_slower_and_still_right(self):
        plain, _ = self.run_model("--timing-only")
        tuned, result = self.run_model("--autotune=6", "--plans", self.plans, "--verify")
        self.assertIn("autotune: 6 plans of 1 kernels tried", result.stderr)
        self.assertLessEqual(tuned["cycles"], plain["cycles"])
        self.assertTrue(all(output["ok"] for output in tuned["outputs"]))
        # The file brings the same program back, without tuning.
        again, _ = self.run_model("--plans", self.plans, "--timing-only")
        self.assertEqual(again["cycles"], tuned["cycles"])
        self.assertEqual(again["dispatches"][0]["mapping"], tuned["dispatches"][0]["mapping"])

    def test_same_file_every_time_and_known_kernels_stay(self):
        self.run_model("--autotune=4", "--plans", self.plans, "--timing-only")
        text = self.plans.read_text()
        other = self.path("q.plans")
        self.run_model("--autotune=4", "--plans", other, "--timing-only")
        self.assertEqual(other.read_text(), text)
        _, result = self.run_model("--autotune=4", "--plans", self.plans, "--timing-only")
        self.assertIn("no kernel without a plan", result.stderr)
        self.assertEqual(self.plans.read_text(), text)

    def test_plan_by_hand(self):
        self.run_model("--autotune=1", "--plans", self.plans, "--timing-only")
        lines = self.plans.read_text().splitlines()
        key = lines[-1].split(" ", 1)[0]

        def write(plan):
            self.plans.write_text("\n".join(lines[:-1] + [f"{key} {plan}"]) + "\n")

        write("m 8/200, n 16/96, k 300; 2 buffers, 1 accumulator")
        report, _ = self.run_model("--plans", self.plans, "--verify")
        self.assertEqual(report["dispatches"][0]["mapping"]["plan"],
                         "m 8/200, n 16/96, k 300; 2 buffers, 1 accumulator")
        for plan, message in (("m 8/201, n 96, k 300; 2 buffers", "loop m has 200 iterations"),
                              ("m 200, n 96, k 300; 2 buffers", "bytes of SPM"),
                              ("m 8/200, n 96, k 300; 2 boats", "' buffers' is expected")):
            write(plan)
            result = tessera("run", self.model, "--arch", "tiny", "--plans", self.plans)
            self.assertEqual(result.returncode, 1)
            self.assertIn(message, result.stderr)
            self.assertIn(plan, result.stderr)

    def test_bad_files(self):
        def error(*options):
            result = tessera("run", self.model, "--arch", "tiny", *options)
            self.assertEqual(result.returncode, 1, result.stdout)
            return result.stderr

        self.assertIn("p.plans", error("--plans", self.plans))  # Not there.
        self.plans.write_text("something else\n")
        self.assertIn("line 1: 'tessera plans 1' is expected", error("--plans", self.plans))
        self.assertIn("line 1", error("--plans", self.plans, "--autotune=2"))
        self.assertEqual(self.plans.read_text(), "something else\n")
        result = tessera("run", self.model, "--autotune=0")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--autotune", result.stderr)
        built = tessera("compile", self.model, "--arch", "tiny", "-o", self.path("p.tsr"))
        self.assertEqual(built.returncode, 0, built.stderr)
        result = tessera("run", self.path("p.tsr"), "--autotune=2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the plans of an object are fixed", result.stderr)


if __name__ == "__main__":
    unittest.main()
