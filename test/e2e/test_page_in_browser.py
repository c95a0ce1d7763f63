#!/usr/bin/env python3
"""The report's page in a browser: its script runs to the end and draws every section."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from common import DIGITS, tessera

SECTIONS = ["overview", "roofline", "dispatches", "nodes", "stalls", "time", "timeline", "memory", "network", "channels",
            "architecture", "command"]


def open_page(page):
    """What the browser has made of the page, and what its script complained about."""
    with tempfile.TemporaryDirectory() as profile:
        result = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
             f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom", f"file://{page}"],
            capture_output=True, text=True, timeout=120)
    return result.stdout, [line for line in result.stderr.splitlines() if ":CONSOLE" in line]


@unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tmp = pathlib.Path(cls.folder.name)
        for arch in ("edge", "server"):
            result = tessera("run", DIGITS, "--arch", arch, "--dim", "N=64", "--timing-only", "--json",
                             cls.tmp / f"{arch}.json", "--report", cls.tmp / arch)
            assert result.returncode == 0, result.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def sections(self, dom):
        return re.findall(r'<section id="([\w-]+)"', dom)

    def test_every_section_is_drawn(self):
        for arch in ("edge", "server"):
            dom, complaints = open_page(self.tmp / arch / "index.html")
            self.assertEqual(complaints, [])
            self.assertEqual(self.sections(dom), SECTIONS)
            run = json.loads((self.tmp / f"{arch}.json").read_text())
            for dispatch in run["dispatches"]:
                self.assertIn(dispatch["name"], dom)
            # Plots of the library: roofline, two over time, two of memory.
            self.assertEqual(len(re.findall(r'class="u-wrap"', dom)), 5)
            routers = {name for link in run["memory"]["links"] for name in (link["from"], link["to"])
                       if name.startswith("router")}
            network = dom[dom.index('<svg'):dom.index('</svg>')]
            self.assertEqual(len(re.findall("<rect", network)), len(routers))
            self.assertIn('<canvas class="heatmap"', dom)

    def test_a_comparison_is_drawn(self):
        result = tessera("compare", self.tmp / "edge.json", self.tmp / "server.json", "--report", self.tmp / "both")
        self.assertEqual(result.returncode, 0, result.stderr)
        dom, complaints = open_page(self.tmp / "both" / "index.html")
        self.assertEqual(complaints, [])
        self.assertEqual(self.sections(dom), ["compare", "compare-nodes", "compare-dispatches", "overview", "roofline",
                                              "dispatches", "nodes", "stalls", "network", "channels"])

    def test_fields_that_an_older_report_lacks_are_left_out(self):
        old = json.loads((self.tmp / "edge.json").read_text())
        del old["memory"], old["footprint"]
        for part in old["dispatches"] + old["nodes"]:
            part.pop("spm_bytes", None)
        for node in old["nodes"]:
            del node["dram_bytes"]
        (self.tmp / "old.json").write_text(json.dumps(old))
        result = tessera("compare", self.tmp / "old.json", self.tmp / "edge.json", "--report", self.tmp / "older")
        self.assertEqual(result.returncode, 0, result.stderr)
        dom, complaints = open_page(self.tmp / "older" / "index.html")
        self.assertEqual(complaints, [])
        self.assertNotIn("network", self.sections(dom))


if __name__ == "__main__":
    unittest.main()
