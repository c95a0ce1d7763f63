#!/usr/bin/env python3
"""The report as a page: complete, self-contained, and free of side effects."""

import json
import pathlib
import re
import tempfile
import unittest

from common import DIGITS, DIGITS_INPUTS, tessera, without_wall_times


def page_data(page):
    """What the page's script gets."""
    text = page.read_text()
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)[1])


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tmp = pathlib.Path(cls.folder.name)
        cls.arguments = ["run", DIGITS, "--arch", "tiny", "--inputs", DIGITS_INPUTS]
        result = tessera(*cls.arguments, "--json", cls.tmp / "run.json", "--report", cls.tmp / "report")
        assert result.returncode == 0, result.stderr
        cls.run_json = json.loads((cls.tmp / "run.json").read_text())
        cls.page = cls.tmp / "report" / "index.html"
        cls.summary = result.stdout

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_page_needs_nothing_else(self):
        text = self.page.read_text()
        self.assertEqual([path.name for path in self.page.parent.iterdir()], ["index.html"])
        self.assertLess(len(text), 3_000_000)
        self.assertNotRegex(text, r"<(script|link|img|iframe)[^>]+(src|href)=")
        self.assertNotRegex(text, r"@import|url\(|fetch\(|XMLHttpRequest")

    def test_the_page_holds_the_run(self):
        [entry] = page_data(self.page)["runs"]
        self.assertEqual(entry["run"], self.run_json)
        self.assertIn("--report", entry["command"])
        self.assertIn("name: tiny", entry["architecture"])
        cycle = entry["activity"]["cycle"]
        self.assertGreater(len(cycle), 100)
        self.assertLessEqual(cycle[-1], self.run_json["cycles"])
        self.assertGreater(cycle[-1], 0.98 * self.run_json["cycles"])
        self.assertLessEqual(sum(entry["activity"]["dram_read"]), self.run_json["dram"]["bytes_read"])
        self.assertGreater(sum(entry["activity"]["dram_read"]), 0.95 * self.run_json["dram"]["bytes_read"])
        self.assertEqual(len(entry["spans"]), len(self.run_json["dispatches"]))

    def test_nodes_add_up(self):
        self.assertEqual(sum(node["cycles"] for node in self.run_json["nodes"]),
                         sum(dispatch["cycles"] for dispatch in self.run_json["dispatches"]))
        self.assertEqual(sum(node["macs"] for node in self.run_json["nodes"]), self.run_json["matrix"]["macs"])
        self.assertEqual(sum(node["dram_bytes"] for node in self.run_json["nodes"]),
                         sum(dispatch["dram_bytes"] for dispatch in self.run_json["dispatches"]))

    def test_nodes_and_the_rest_are_the_run(self):
        rest, dram = self.run_json["outside_dispatches"], self.run_json["dram"]
        self.assertEqual(sum(node["cycles"] for node in self.run_json["nodes"]) + rest["cycles"], self.run_json["cycles"])
        self.assertEqual(sum(node["dram_bytes"] for node in self.run_json["nodes"]) + rest["dram_bytes"],
                         dram["bytes_read"] + dram["bytes_written"])
        self.assertLess(rest["cycles"], 0.01 * self.run_json["cycles"])

    def test_memory_in_use(self):
        footprint, machine = self.run_json["footprint"], self.run_json["machine"]
        self.assertGreater(footprint["weights"], 0)
        self.assertGreater(footprint["code"], 0)
        dispatches = self.run_json["dispatches"]
        self.assertEqual(max(dispatch["spm_bytes"] for dispatch in dispatches), self.run_json["spm"]["peak_bytes"])
        self.assertLessEqual(self.run_json["spm"]["peak_bytes"], machine["spm_bytes"])
        live = [dispatch["live_bytes"] for dispatch in dispatches]
        self.assertLessEqual(max(live), footprint["arena"])
        # The arena is as large as its fullest moment, but for alignment and holes between buffers.
        self.assertGreater(max(live), 0.5 * footprint["arena"])
        self.assertGreater(min(live), 0)

    def test_channels_and_links_over_the_run(self):
        [entry] = page_data(self.page)["runs"]
        memory, channels = self.run_json["memory"], entry["activity"]["channels"]
        self.assertEqual(len(channels), len(memory["channels"]))
        for row in channels:
            self.assertEqual(len(row), len(entry["activity"]["cycle"]) - 1)
        moved = sum(c["reads"] + c["writes"] for c in memory["channels"]) * memory["atom_bytes"]
        # All but requests that were still under way, of walks ahead that nobody waited for.
        self.assertLessEqual(moved, memory["dram_bytes"]["total"])
        self.assertGreater(moved, 0.999 * memory["dram_bytes"]["total"])
        self.assertGreater(len(memory["links"]), 0)
        for link in memory["links"]:
            self.assertLessEqual(link["flits"], self.run_json["cycles"] * 1.1)

    def test_the_memory_sides_books(self):
        memory, cycles = self.run_json["memory"], self.run_json["cycles"]
        purposes = dict(memory["dram_bytes"])
        self.assertEqual(purposes.pop("total"), sum(purposes.values()))
        for channel in memory["channels"]:
            atoms = channel["reads"] + channel["writes"]
            self.assertGreater(atoms, 0)
            self.assertEqual(channel["row_hits"] + channel["row_misses"] + channel["row_conflicts"], atoms)
            self.assertEqual(sum(channel["bank_accesses"]), atoms)
            self.assertEqual(sum(channel["bank_activates"]), channel["activates"])
            self.assertLessEqual(channel["precharges"], channel["activates"])
        # What came out at the ports is what was ejected; a link carries at most a flit a cycle.
        ports = [link for link in memory["links"] if not link["to"].startswith("router")]
        self.assertEqual(sum(link["messages"] for link in ports), memory["messages"]["ejected"])
        for link in memory["links"]:
            self.assertLessEqual(link["messages"], link["flits"])
            self.assertLessEqual(link["blocked_cycles"], cycles * 1.1)
        # What went to a channel's port are its reads' requests and its writes' data.
        for number, channel in enumerate(memory["channels"]):
            [port] = [link for link in ports if link["to"] == f"channel {number}"]
            self.assertLessEqual(port["bytes"], channel["writes"] * memory["atom_bytes"])

    def test_verbose_tells_more(self):
        result = tessera(*self.arguments, "-v")
        self.assertEqual(result.returncode, 0, result.stderr)
        count = len(self.run_json["dispatches"])
        self.assertIn(f"Longest dispatches ({count} of {count})", result.stdout)
        for word in ("Memory side", "busiest links", "translation", "of weights"):
            self.assertIn(word, result.stdout)
            self.assertNotIn(word, self.summary)

    def test_the_critical_path_lies_within_the_layers(self):
        self.assertGreater(self.run_json["critical_path"]["cycles"], self.run_json["bound"]["cycles"] / 2)
        # Digits is one chain: each layer once, and the pipelines' latencies.
        self.assertGreaterEqual(self.run_json["critical_path"]["cycles"], self.run_json["layerwise"]["cycles"])

    def test_the_summary_says_what_limits_the_run(self):
        for sentence in self.run_json["explanation"]:
            self.assertIn(sentence, self.summary)
        self.assertRegex(self.summary, r"The run is limited by the matrix engines for \d+ %")

    def test_watching_changes_no_cycle(self):
        result = tessera(*self.arguments, "--json", self.tmp / "plain.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(without_wall_times((self.tmp / "plain.json").read_text()),
                         without_wall_times((self.tmp / "run.json").read_text()))

    def test_errors_come_before_the_work(self):
        (self.tmp / "file").write_text("")
        result = tessera(*self.arguments, "--report", self.tmp / "file")
        self.assertEqual(result.returncode, 1)
        self.assertIn("is a file; a folder is to be written there", result.stderr)


if __name__ == "__main__":
    unittest.main()
