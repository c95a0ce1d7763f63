#!/usr/bin/env python3
"""The example that shows what there is when a program of the runtime goes wrong."""

import tempfile
import unittest
from pathlib import Path

from common import run


class RuntimeDebug(unittest.TestCase):
    def debug(self, *arguments, code=0):
        result = run("runtime_debug", *arguments)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        if code:
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
            self.assertTrue(result.stderr.startswith("error: "), result.stderr)
            return result.stderr
        return result.stdout

    def test_race_is_named(self):
        out = self.debug("race")
        self.assertIn("'fill 1' (queue 'filler', operation 0)", out)
        self.assertIn("'copy 1' (queue 'copier', operation 0)", out)
        self.assertIn("wait for semaphore 'filled' >= 1", out)

    def test_hang_tells_all(self):
        out = self.debug("hang")
        self.assertIn("semaphore 'S' >= 1, to be signalled by 'second' (queue 'left'", out)
        self.assertIn("a cycle", out)
        for part in ["queue 'left' (slot 0", "queue 'right' (no slot", "'third', not published",
                     "waits for semaphore 'S' >= 1 (it is 0)", "'first' submitted"]:
            self.assertIn(part, out)
        # Events have the time at which the host learnt of them.
        self.assertRegex(out, r"[1-9]\d* fs: 'first' completed")

    def test_record_and_replay(self):
        with tempfile.TemporaryDirectory() as folder:
            tape = Path(folder) / "tape"
            recorded = self.debug("record", tape)
            self.assertEqual(recorded.splitlines()[0], self.debug("run").strip())
            self.assertIn("none differs", self.debug("replay", tape))
            # Equal runs are equal files.
            again = Path(folder) / "again"
            self.debug("record", again)
            self.assertEqual(tape.read_bytes(), again.read_bytes())
            # Any damage is found.
            damaged = bytearray(tape.read_bytes())
            damaged[len(damaged) // 2] ^= 1
            again.write_bytes(damaged)
            self.assertIn("again", self.debug("replay", again, code=1))
            self.assertIn("none", self.debug("replay", Path(folder) / "none", code=1))

    def test_injected_faults(self):
        # Lost and doubled doorbells and interrupts change nothing but the time.
        arguments = ["inject", "drop-doorbell=300", "duplicate-doorbell=300",
                     "drop-interrupt=300", "tear-fetch=200", "seed=5"]
        out = self.debug(*arguments)
        self.assertIn("drop-doorbell (queue", out)
        self.assertIn("all rounds came out right", out)
        self.assertEqual(out, self.debug(*arguments))
        out = self.debug("inject", "link-loss=200", "seed=1")
        self.assertIn("link-loss", out)
        self.assertIn("it ended with", out)
        self.assertIn("the device is lost", out)
        self.assertIn("there are drop-doorbell", self.debug("inject", "rain=1", code=1))
        self.assertIn("at most 1000", self.debug("inject", "link-loss=1001", code=1))
        self.assertIn("'x' is no number", self.debug("inject", "seed=x", code=1))
        self.assertIn("usage", self.debug(code=1))

    def test_schedules(self):
        out = self.debug("explore", 50)
        self.assertRegex(out, r"seed \d+: round \d+: the copy is not what was filled")


if __name__ == "__main__":
    unittest.main()
