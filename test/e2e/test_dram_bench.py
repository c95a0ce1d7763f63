"""dram-bench: the figures that docs/validation.md compares, errors, traces."""

import importlib.util
import json
import pathlib
import tempfile
import unittest

from common import BIN, ROOT, run


def bench(*args):
    return run("dram-bench", *args)


class DramBench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tmp = pathlib.Path(folder.name)

    def json_of(self, *args):
        out = self.tmp / "out.json"
        result = bench(*args, "--json", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(out.read_text())

    def refused(self, *args):
        result = bench(*args)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def test_every_measured_row(self):
        spec = importlib.util.spec_from_file_location(
            "validate_dram", ROOT / "tools" / "validate-dram.py")
        validate = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(validate)
        lines, failures = validate.compare(BIN / "dram-bench")
        self.assertEqual(failures, [])
        # The page shows these very figures.
        page = (ROOT / "docs" / "validation.md").read_text()
        self.assertIn("\n".join(lines), page)

    def test_counters_add_up(self):
        got = self.json_of("--dram", "HBM2-2400", "--pattern", "randmix",
                           "--transactions", "20000")
        self.assertEqual(got["reads"] + got["writes"], 20000)
        self.assertEqual(got["column_reads"] + got["reads_from_write_queue"], got["reads"])
        self.assertLessEqual(got["fraction_of_peak"], 1)
        again = self.json_of("--dram", "HBM2-2400", "--pattern", "randmix",
                             "--transactions", "20000")
        self.assertEqual(got, again)

    def test_runs_of_a_row_are_their_transactions(self):
        for dram, pattern, mapping, run in (("HBM2-2400", "seq", "native", "32"), ("HBM2-2400", "seqmix", "bgi64", "2"),
                                            ("DDR4-3200", "seqmixo", "native", "16"), ("DDR4-2400", "seq", "bgi", "4")):
            arguments = ["--dram", dram, "--pattern", pattern, "--mapping", mapping, "--transactions", "30000",
                         "--run", run]
            together, singly = self.json_of(*arguments), self.json_of(*arguments, "--singly")
            # A read's latency is that of its own atom, or of its run's last.
            self.assertGreaterEqual(together.pop("read_latency_ns")["mean"], singly.pop("read_latency_ns")["mean"])
            self.assertEqual(together, singly)
            self.assertEqual(together["transactions"], 30000)

    def test_trace_with_idle_time(self):
        trace = self.tmp / "trace"
        # A closed bank 22 + 22 + 4, the open row 22 + 4, a conflict 22 more.
        trace.write_text("# cycle, what, where\n0 R 0x0\n1000 R 0x100\n2000 R 0x100000000\n")
        got = self.json_of("--dram", "DDR4-3200", "--trace", trace, "--no-refresh")
        self.assertEqual(got["cycles"], 2000 + 70 + 1)
        self.assertEqual(got["read_latency_ns"]["min"], 26 * 0.625)
        self.assertEqual(got["read_latency_ns"]["median"], 48 * 0.625)
        self.assertEqual(got["read_latency_ns"]["max"], 70 * 0.625)
        self.assertEqual((got["row_hits"], got["row_misses"], got["row_conflicts"]), (1, 1, 1))

    def test_own_timings(self):
        timings = self.tmp / "dram.yaml"
        timings.write_text("dram:\n  preset: DDR4-3200\n  tRP: 30\n")
        result = bench("--dram", timings, "--pattern", "idle", "--no-refresh",
                       "--mapping", "bgi", "--json", self.tmp / "out.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        got = json.loads((self.tmp / "out.json").read_text())
        self.assertEqual(got["read_latency_ns"]["median"], (30 + 22 + 22 + 4) * 0.625)

    def test_errors(self):
        self.assertIn("presets are DDR4-2400", self.refused("--dram", "DDR9", "--pattern", "seq"))
        self.assertIn("'zigzag' is no pattern", self.refused(
            "--dram", "DDR4-3200", "--pattern", "zigzag"))
        self.assertIn("needs the bits of 'R16", self.refused(
            "--dram", "DDR4-3200", "--pattern", "seq", "--mapping", "R15 B2 G2 C7"))
        self.assertIn("--pattern or --trace is required", self.refused("--dram", "DDR4-3200"))
        trace = self.tmp / "trace"
        for line, message in (("5 X 0x0", "trace:2: '5 X 0x0' is not"),
                              ("5 R 0x9000000000", "trace:2: address 0x9000000000 is beyond"),
                              ("3 R 0x40", "trace:2: cycle 3 comes after cycle 4")):
            trace.write_text(f"4 R 0x0\n{line}\n")
            self.assertIn(message, self.refused("--dram", "DDR4-3200", "--trace", trace))
        bad = self.tmp / "bad.yaml"
        bad.write_text("dram:\n  preset: DDR4-3200\n  trpp: 3\n")
        self.assertIn("bad.yaml:3: dram.trpp", self.refused("--dram", bad, "--pattern", "seq"))


if __name__ == "__main__":
    unittest.main()
