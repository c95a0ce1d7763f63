#!/usr/bin/env python3
"""DFT and STFT against NumPy's transforms, which work another way."""

import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase, floats


def parts(values):
    """Complex numbers as ONNX has them: the components in a last dimension."""
    return np.stack([values.real, values.imag], -1).astype(np.float32)


class Fourier(OperatorCase):
    def test_dft(self):
        m = Model(17)
        for points in (1, 2, 7, 12):  # Also a prime.
            real = floats(3, points, 1)
            x = m.input(f"real{points}", real)
            m.node("DFT", [x], parts(np.fft.fft(real[..., 0])), axis=1)
            m.node("DFT", [x], parts(np.fft.rfft(real[..., 0])), axis=1, onesided=1)
            both = floats(2, points, 3, 2)
            x = m.input(f"both{points}", both)
            values = both[..., 0] + 1j * both[..., 1]
            m.node("DFT", [x], parts(np.fft.fft(values, axis=1)), axis=1)
            m.node("DFT", [x], parts(np.fft.fft(values, axis=2)), axis=-2)
            m.node("DFT", [x], parts(np.fft.ifft(values, axis=1)), axis=1, inverse=1)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_dft_length(self):
        m = Model(20)  # The axis is an operand.
        x = floats(2, 9, 1)
        name = m.input("x", x)
        for points in (5, 9, 14):  # Cut, whole, filled up with zeros.
            m.node("DFT", [name, m.constant(np.array(points, np.int64)),
                           m.constant(np.array(1, np.int64))],
                   parts(np.fft.fft(x[..., 0], points)))
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_stft(self):
        m = Model(17)
        signal = floats(2, 40, 1)
        x = m.input("x", signal)
        window = m.input("window", np.hanning(12).astype(np.float32))
        step = m.constant(np.array(5, np.int64))
        frames = np.stack([signal[:, i:i + 12, 0] for i in range(0, 29, 5)], 1)
        m.node("STFT", [x, step, window],
               parts(np.fft.rfft(frames * np.hanning(12).astype(np.float32))))
        m.node("STFT", [x, step, "", m.constant(np.array(12, np.int64))],
               parts(np.fft.fft(frames)), onesided=0)
        both = floats(1, 20, 2)
        frames = np.stack([(both[..., 0] + 1j * both[..., 1])[:, i:i + 7] for i in range(0, 14, 3)], 1)
        m.node("STFT", [m.input("both", both), m.constant(np.array(3, np.int64)), "",
                        m.constant(np.array(7, np.int64))], parts(np.fft.fft(frames)), onesided=0)
        self.check(m, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
