#!/usr/bin/env python3
"""House rules that a machine can see: licence headers, no file without an end."""

import subprocess
import unittest

from common import ROOT

SUFFIXES = (".cpp", ".h", ".td")


class Source(unittest.TestCase):
    def setUp(self):
        # A tree that is no checkout (an unpacked archive) lists its files by walking.
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
        paths = (listed.stdout.split("\n") if listed.returncode == 0 else
                 [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
                  if "build" not in path.parts])
        self.files = [ROOT / path for path in paths
                      if path.endswith(SUFFIXES) and not path.startswith(("third_party/", "test/TableGen/"))
                      and (ROOT / path).is_file()]
        self.assertGreater(len(self.files), 100)

    def test_licence_headers(self):
        missing = [str(path.relative_to(ROOT)) for path in self.files
                   if "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
                   not in path.read_text()[:600]]
        self.assertEqual(missing, [])

    def test_one_subject_a_file(self):
        long = [str(path.relative_to(ROOT)) for path in self.files
                if path.read_text().count("\n") > 900]
        self.assertEqual(long, [])


if __name__ == "__main__":
    unittest.main()
