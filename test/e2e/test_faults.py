#!/usr/bin/env python3
"""A kernel that faults: `tessera run` says which, where, and which instruction."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

from common import run, tessera

KERNEL = """
isa.kernel @wrong args 2 {
  isa.descriptor global f32 [16] strides [1] base 0
  isa.descriptor spm f32 [16] strides [1] base 65500
  isa.ldarg rd = r0, index = 0
  isa.td.load td = t0, index = 0
  isa.td.load td = t1, index = 1
  isa.td.add td = t0, src = t0, ra = r0
  isa.load dst = t1, src = t0 loc("layer 7")
  isa.halt
}
device.program @main inputs [#device.tensor<"x" : "f32", [16]>]
    outputs [#device.tensor<"y" : "f32", [16]>] {
^bb0(%x: !device.buffer<64>, %y: !device.buffer<64>):
  device.dispatch @wrong(%x, %y) cores = [1, 1] nodes = ["wrong"]
      : !device.buffer<64>, !device.buffer<64>
  device.return
}
"""


class Faults(unittest.TestCase):
    def test_message(self):
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            (work / "k.mlir").write_text(KERNEL)
            result = run("tessera-translate", "--isa-to-object", "--arch=tiny",
                         work / "k.mlir", "-o", work / "k.tsr")
            self.assertEqual(result.returncode, 0, result.stderr)
            np.save(work / "x.npy", np.zeros(16, np.float32))
            result = tessera("run", work / "k.tsr", "--arch", "tiny",
                             f"--input=x={work / 'x.npy'}")
            self.assertEqual(result.returncode, 1)
            for part in ["core 0, pc 4", "SpmOutOfBounds", "0xffdc", "kernel wrong",
                         "isa.load dst = t1, src = t0"]:
                self.assertIn(part, result.stderr)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
