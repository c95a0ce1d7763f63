#!/usr/bin/env python3
"""Operands that several cores need are read once; results are those of any other plan."""

import json
import pathlib
import re
import sys
import tempfile
import unittest

from common import ROOT, tessera

sys.path.insert(0, str(ROOT / "test" / "bench" / "models"))
import gemm  # noqa: E402

# Products whose tiles several cores share.
SIZES = {"edge": [(128, 128, 256), (256, 256, 96)],
         "server": [(512, 512, 256), (128, 1024, 256)],
         "tpuv4like": [(512, 512, 256), (256, 512, 264)]}
# With edges that no tile divides. Their last tiles lie over a part of those before them,
# where two cores store the same values.
UNEVEN = {"edge": [(131, 257, 127)], "server": [(509, 512, 131), (128, 1021, 257)],
          "tpuv4like": [(257, 509, 263)]}
SHARED = re.compile(r"isa\.load\.multicast")


class Multicast(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_ok(self, *arguments):
        result = tessera(*arguments)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}{result.stderr}")
        return result.stdout

    def product(self, size, element="bf16"):
        model = self.folder / f"{gemm.name(*size)}_{element}.mlir"
        model.write_text(gemm.text(*size, element))
        return model

    def loads(self, model, arch):
        """How many multicast loads the program has."""
        output = self.folder / "program.mlir"
        self.run_ok("compile", model, "--arch", arch, "--emit=isa", "-o", output)
        return len(SHARED.findall(output.read_text()))

    def check(self, arch):
        shared = 0
        for size in SIZES[arch]:
            model = self.product(size)
            shared += self.loads(model, arch)
            self.run_ok("run", model, "--arch", arch, "--verify",
                        "--sanitize=race,memory,sync")
        for size in UNEVEN[arch]:
            model = self.product(size)
            shared += self.loads(model, arch)
            self.run_ok("run", model, "--arch", arch, "--verify", "--sanitize=memory,sync")
        self.assertGreater(shared, 0)

    def test_edge(self):
        self.check("edge")

    def test_server(self):
        self.check("server")

    def test_tpuv4like(self):
        self.check("tpuv4like")

    def test_queues_of_one_entry(self):
        """A program is right at any depth of the queues."""
        arch = self.folder / "shallow.yaml"
        preset = (ROOT / "lib" / "Arch" / "presets" / "server.yaml").read_text()
        self.assertNotIn("queues:", preset)
        arch.write_text(preset.replace("name: server", "name: shallow") + "queues: {depth: 1}\n")
        model = self.product((512, 512, 512))
        self.assertGreater(self.loads(model, arch), 0)
        self.run_ok("run", model, "--arch", arch, "--verify", "--sanitize=race,memory,sync")

    def test_memory_is_read_once(self):
        """1 MiB of operands; 4 x 4 cores, each for itself, would read 4 MiB."""
        report = self.folder / "report.json"
        output = self.run_ok("run", self.product((512, 512, 512)), "--arch", "server",
                             "--timing-only", "--explain", "--json", report)
        self.assertIn("operand 0 multicast to", output)
        read = json.loads(report.read_text())["dram"]["bytes_read"]
        self.assertGreaterEqual(read, 2**20)
        self.assertLess(read, 1.2 * 2**20)


if __name__ == "__main__":
    unittest.main()
