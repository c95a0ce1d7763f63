#!/usr/bin/env python3
"""The hand-written kernels: results, figures, checking modes, planted bugs.

By default each kernel gets a sample of its mutants; `--all-mutants` tries every one.
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "kernels"))
from framework import kernels, speeds  # noqa: E402
from planting import mutants  # noqa: E402
from verdict import CHECKS, judge  # noqa: E402

ALL_MUTANTS = "--all-mutants" in sys.argv
# Mutants of one kernel in a normal run; a kernel may ask for fewer.
SAMPLE = 16


def sample(kernel):
    """Every `unordered` and `early` mutant, and `drop` mutants spread over the text."""
    every = list(mutants(kernel.source))
    limit = getattr(kernel.definition, "SAMPLE", SAMPLE)
    if ALL_MUTANTS or len(every) <= limit:
        return every
    balanced = [m for m in every if m.family != "drop"]
    drops = [m for m in every if m.family == "drop"]
    count = max(limit - len(balanced), 2)
    return balanced[:limit] + [drops[i * len(drops) // count] for i in range(count)]


class Kernels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)

    def check(self, kernel):
        target = kernel.prepare(self.work)
        outcome = kernel.execute(self.work, target, CHECKS)
        self.assertEqual(outcome.status, 0, outcome.errors)
        self.assertEqual(outcome.errors, "")
        self.assertTrue(kernel.is_right(outcome.outputs), "differs from the reference")
        # Checking and --timing-only change no cycle, unless the kernel's indices are
        # data: without data they are drawn by lot, and the report says so.
        timed = kernel.execute(self.work, target, "--timing-only", CHECKS)
        self.assertEqual(timed.status, 0, timed.errors)
        self.assertEqual(timed.errors, "")
        self.assertEqual(outcome.report["drawn_indices"], 0)
        if not timed.report["drawn_indices"]:
            self.assertEqual(kernel.cycles(timed.report), kernel.cycles(outcome.report))
        for engine, causes in getattr(kernel.definition, "ENGINE_CYCLES", {}).items():
            for cause, cycles in causes.items():
                self.assertEqual(outcome.report["engines"][engine][cause], cycles,
                                 f"{engine}: {cause}")
        for unit, least in getattr(kernel.definition, "UTILIZATION", {}).items():
            self.assertEqual(unit, "matrix", "the figure that kernels can claim")
            self.assertGreaterEqual(kernel.utilization(outcome.report), least)

    def check_speeds(self, kernel):
        target = kernel.prepare(self.work)
        for arch in speeds(kernel, self.work):
            outcome = kernel.execute(self.work, target, arch=arch)
            self.assertEqual(outcome.status, 0, f"{arch.name}: {outcome.errors}")
            self.assertTrue(kernel.is_right(outcome.outputs), arch.name)

    def plant(self, kernel):
        kernel.prepare(self.work)
        files = speeds(kernel, self.work)
        verdicts = {}
        for mutant in sample(kernel):
            verdict = judge(kernel, self.work, mutant, files)
            verdicts.setdefault(verdict, []).append(mutant.what)
        # A kernel without synchronisation would prove nothing.
        self.assertTrue(any(v.startswith("reported") for v in verdicts), verdicts)


def add_tests(kernel):
    def test(method):
        return lambda self: getattr(self, method)(kernel)
    setattr(Kernels, f"test_{kernel.name}", test("check"))
    setattr(Kernels, f"test_{kernel.name}_at_other_speeds", test("check_speeds"))
    setattr(Kernels, f"test_{kernel.name}_with_planted_bugs", test("plant"))


for each in kernels():
    add_tests(each)

if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--all-mutants"])
