#!/usr/bin/env python3
"""A compiled model run by a C program gives what `tessera run` gives."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

from common import DIGITS, DIGITS_INPUTS, run, tessera


class CInterface(unittest.TestCase):
    def test_model(self):
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            image = DIGITS_INPUTS / "0.npy"
            result = tessera("compile", DIGITS, "--arch", "edge", "--dim", f"N={len(np.load(image))}",
                             "-o", work / "digits.tsr")
            self.assertEqual(result.returncode, 0, result.stderr)
            result = tessera("run", work / "digits.tsr", "--arch", "edge",
                             f"--inputs={DIGITS_INPUTS}", f"--outputs={work / 'out'}")
            self.assertEqual(result.returncode, 0, result.stderr)
            expected = np.load(next((work / "out").glob("*.npy")))
            np.load(image).tofile(work / "image.bin")
            result = run("c_model", "edge", work / "digits.tsr", work / "out.bin",
                         work / "image.bin")
            self.assertEqual(result.returncode, 0, result.stderr)
            found = np.fromfile(work / "out.bin", expected.dtype).reshape(expected.shape)
            np.testing.assert_array_equal(found, expected)
            self.assertRegex(result.stdout, r"ran for \d{4,} cycles")
            self.assertIn("races: none", result.stdout)
            # The compiler's declarations are true.
            self.assertIn("undeclared accesses: none", result.stdout)

            # Misuse is one line and status 1.
            (work / "short.bin").write_bytes(b"1234")
            for arguments, text in [
                    (["edge", work / "digits.tsr", work / "o"], "the model has 1 inputs"),
                    (["edge", work / "digits.tsr", work / "o", work / "short.bin"], "4 bytes"),
                    (["tiny", work / "digits.tsr", work / "o", work / "image.bin"], "tiny"),
                    (["edge", work / "image.bin", work / "o", work / "image.bin"], "image.bin"),
                    (["edge", work / "none", work / "o", work / "image.bin"], "cannot be read"),
                    ([], "usage")]:
                result = run("c_model", *arguments)
                self.assertEqual(result.returncode, 1, arguments)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
                self.assertTrue(result.stderr.startswith("error: "), result.stderr)
                self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main()
