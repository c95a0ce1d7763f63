#!/usr/bin/env python3
"""Generated pages are up to date; links and commands in the pages lead somewhere."""

import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

from common import BIN, ROOT, run


class Docs(unittest.TestCase):
    def test_generated_pages_are_current(self):
        with tempfile.TemporaryDirectory() as folder:
            tmp = pathlib.Path(folder)
            subprocess.run([ROOT / "tools" / "generate-docs.sh", tmp], check=True)
            pages = [page for page in tmp.rglob("*.md")]
            self.assertGreater(len(pages), 4)
            for page in pages:
                committed = ROOT / "docs" / page.relative_to(tmp)
                self.assertEqual(page.read_text(), committed.read_text(),
                                 f"{committed}: run tools/generate-docs.sh")

    def test_relative_links(self):
        pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for page in pages:
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
                if not target.startswith(("http://", "https://")):
                    self.assertTrue((page.parent / target).exists(), f"{page}: {target}")

    def test_runtime_pages_have_every_call(self):
        """What a class of the runtime offers is named on its page, or where faults are found."""
        pages = {"AddressSpace": "address-space", "MemoryPool": "memory-pool",
                 "CommandBuffer": "command-buffer", "Snapshot": "device", "Deadline": "device",
                 "HostCosts": "device"}
        diagnosis = (ROOT / "docs" / "diagnosis.md").read_text()
        headers = sorted((ROOT / "runtime/include/tessera/runtime").glob("*.h"))
        self.assertGreater(len(headers), 10)
        checked = 0
        for header in headers:
            page = ROOT / "docs" / "runtime" / (pages.get(header.stem, header.stem.lower()) + ".md")
            text = diagnosis + (page.read_text() if page.exists() else "")
            named = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", text)) +
                                   " ".join(re.findall(r"^    .*$", text, re.M))))
            for kind, name, body in re.findall(r"^(class|struct) (\w+)[^;{]*\{\n(.*?)^\};",
                                               header.read_text(), re.M | re.S):
                public = body.split("private:")[0]
                # Of the declarations, which the class's indentation begins, the word before
                # the parenthesis.
                calls = re.findall(r"^  (?! |return|operator|TESSERA)[\w:<>,&* ]+?[ &*](\w+)\(", public, re.M)
                for call in set(calls) - {name, "operator", "bool"}:
                    checked += 1
                    self.assertIn(call, named, f"{header.name}: {name}::{call} is not on {page.name}")
        self.assertGreater(checked, 80)

    def check_commands(self, page):
        """Runs the page's commands, one after the other, in a folder of their own."""
        commands = [line.strip() for line in page.read_text().splitlines()
                    if line.startswith(("    $bin/", "    sed "))]
        self.assertGreater(len(commands), 5)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("test", "third_party"):
                (pathlib.Path(folder) / name).symlink_to(ROOT / name)
            for command in commands:
                line = command.split("#")[0].replace("$bin", shlex.quote(str(BIN)))
                result = run("bash", "-c", line, cwd=folder)
                self.assertEqual(result.returncode, 0, f"{command}\n{result.stderr}")

    def test_readme_commands(self):
        self.check_commands(ROOT / "README.md")

    def test_guides(self):
        pages = sorted((ROOT / "docs" / "guide").glob("*.md"))
        self.assertTrue(pages)
        for page in pages:
            with self.subTest(page=page.name):
                self.check_commands(page)


if __name__ == "__main__":
    unittest.main()
