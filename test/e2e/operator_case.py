"""What tests of ONNX operators share: values, and the comparison with NumPy's."""

import pathlib
import tempfile
import unittest

import numpy as np

from common import tessera

RNG = np.random.default_rng(7)


def floats(*shape, low=-2.0, high=2.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def integers(dtype, *shape, low=None, high=None):
    info = np.iinfo(dtype)
    low, high = info.min if low is None else low, info.max if high is None else high
    return RNG.integers(low, high, shape, dtype, endpoint=True)


class OperatorCase(unittest.TestCase):
    def check(self, model, arch="edge", rtol=1e-5, atol=1e-6):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "in").mkdir()
            (folder / "model.onnx").write_bytes(model.bytes())
            for i, (_, array) in enumerate(model.inputs):
                np.save(folder / "in" / f"{i}.npy", array)
            result = tessera("run", folder / "model.onnx", "--arch", arch, "--inputs",
                             folder / "in", "--outputs", folder / "out", "--verify")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            for i, (name, want) in enumerate(zip(model.outputs, model.expected)):
                with self.subTest(name):
                    got = np.load(folder / "out" / f"{i}.npy")
                    self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
                    if want.dtype.kind == "f":
                        np.testing.assert_allclose(got, want, rtol, atol)
                    else:
                        np.testing.assert_array_equal(got, want)
