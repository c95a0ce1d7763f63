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


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("chromium"):
            raise unittest.SkipTest("chromium is not installed")
        cls.folder = tempfile.TemporaryDirectory()
        cls.tmp = pathlib.Path(cls.folder.name)
        # A browser that cannot start here (no name spaces, say) tells nothing of the page.
        (cls.tmp / "plain.html").write_text("<p id=plain></p><script>plain.textContent = 6 * 7</script>")
        try:
            started = ">42<" in open_page(cls.tmp / "plain.html")[0]
        except (OSError, subprocess.TimeoutExpired):
            started = False
        if not started:
            raise unittest.SkipTest("chromium does not start here")
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

    def test_each_matrix_engine_has_its_row(self):
        text = tessera("arch", "show", "edge").stdout.replace("  cols: 32\n  count: 1\n", "  cols: 32\n  count: 3\n")
        arch = self.tmp / "three.yaml"
        arch.write_text(text)
        result = tessera("run", DIGITS, "--arch", arch, "--dim", "N=64", "--timing-only", "--json",
                         self.tmp / "three.json", "--report", self.tmp / "three")
        self.assertEqual(result.returncode, 0, result.stderr)
        engines = json.loads((self.tmp / "three.json").read_text())["engines"]
        self.assertEqual(sorted(engines), ["load", "matrix", "matrix1", "matrix2", "sequencer", "store", "vector"])
        # The compiler gives all work to the first.
        self.assertGreater(engines["matrix"]["busy"], 0)
        self.assertEqual(engines["matrix2"]["busy"], 0)
        self.assertEqual(len({sum(causes.values()) for causes in engines.values()}), 1)
        dom, complaints = open_page(self.tmp / "three" / "index.html")
        self.assertEqual(complaints, [])
        self.assertEqual(self.sections(dom), SECTIONS)
        for engine in engines:
            self.assertIn(f"<div>{engine}</div>", dom)

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

    def test_damaged_reports_give_an_error_or_a_page_that_works(self):
        good = json.loads((self.tmp / "edge.json").read_text())
        damages = {
            "explanation": lambda run: run.update(explanation={}),
            "outputs": lambda run: run.update(outputs=[None]),
            "dispatches": lambda run: run.update(dispatches={}),
            "ops": lambda run: run["dispatches"][0].pop("ops"),
            "opsText": lambda run: run["dispatches"][0].update(ops="abc"),
            "negative": lambda run: run["dispatches"][0].update(cycles=-5),
            "huge": lambda run: run.update(cycles=1e300),
            "nodes": lambda run: run["nodes"][0].pop("dispatches"),
            "engines": lambda run: run["engines"].update(matrix1=5),
            "memory": lambda run: run.update(memory=5),
            "links": lambda run: run["memory"].update(links="nonsense"),
            "link": lambda run: run["memory"].update(links=[{"from": 1, "to": 2}]),
            "channels": lambda run: run["memory"].update(channels=-1),
            "banks": lambda run: run["memory"]["channels"][0].update(bank_accesses=None),
            "worksDispatches": lambda run: run.update(dispatches=[], nodes=[]),
            "worksLinks": lambda run: run["memory"].update(links=[]),
            "worksChannels": lambda run: run["memory"].update(channels=[]),
        }
        for name, damage in damages.items():
            with self.subTest(name=name):
                run = json.loads(json.dumps(good))
                damage(run)
                (self.tmp / "bad.json").write_text(json.dumps(run))
                result = tessera("compare", self.tmp / "edge.json", self.tmp / "bad.json", "--report", self.tmp / name)
                if name.startswith("works"):
                    self.assertEqual(result.returncode, 0, result.stderr)
                    dom, complaints = open_page(self.tmp / name / "index.html")
                    self.assertEqual(complaints, [])
                    self.assertIn("compare-nodes", self.sections(dom))
                else:
                    self.assertEqual(result.returncode, 1)
                    self.assertRegex(result.stderr, r"^error: .*bad\.json: .* is accepted\n$")
                    self.assertFalse((self.tmp / name).exists())


if __name__ == "__main__":
    unittest.main()
