#!/usr/bin/env python3
"""Layers that ONNX Runtime's dynamic quantisation writes, against NumPy."""

import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase, floats

RNG = np.random.default_rng(8)


def quantize(x):
    """Bytes, scale and zero point, as DynamicQuantizeLinear defines them, in f32."""
    low, high = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
    if high == low:  # Nothing but 0, as a first state: any scale will do.
        return np.zeros_like(x), np.float32(1), 0
    scale = np.float32((high - low) / np.float32(255))
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return np.clip(np.rint(x / scale) + zero, 0, 255), scale, zero


def product(x, weights, scale, zero=0):
    """Of floats, quantised now, and integers less their zero point."""
    bytes_, own, at = quantize(x.astype(np.float32))
    return ((bytes_ - at) @ (weights.astype(np.float64) - zero) * np.float32(own * scale)).astype(np.float32)


def sigmoid(x):
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(np.float32)


class QuantizedLayers(OperatorCase):
    def lstm(self, direction, per_column):
        steps, batch, inputs, hidden = 3, 2, 6, 5
        directions = 2 if direction == "bidirectional" else 1
        x = floats(steps, batch, inputs)
        w = RNG.integers(-90, 90, (directions, inputs, 4 * hidden)).astype(np.int8)
        r = RNG.integers(-90, 90, (directions, hidden, 4 * hidden)).astype(np.int8)
        bias = floats(directions, 8 * hidden)
        columns = (4 * hidden,) if per_column else ()
        scales = [RNG.uniform(0.005, 0.02, (directions, *columns)).astype(np.float32) for _ in "wr"]
        zeros = [np.zeros((directions, *columns), np.int8) for _ in "wr"]
        outputs = np.zeros((steps, directions, batch, hidden), np.float32)
        last = []
        for d in range(directions):
            h, c = np.zeros((batch, hidden), np.float32), np.zeros((batch, hidden), np.float32)
            order = range(steps)[::-1] if d == 1 or direction == "reverse" else range(steps)
            fresh = product(x.reshape(steps * batch, inputs), w[d], scales[0][d]) + bias[d, :4 * hidden]
            fresh = fresh.reshape(steps, batch, -1)
            for t in order:
                gates = fresh[t] + product(h, r[d], scales[1][d]) + bias[d, 4 * hidden:]
                i, o, f, g = np.split(gates, 4, 1)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
                outputs[t, d] = h
            last.append((h, c))
        m = Model(17)
        names = [m.input("x", x), m.constant(w), m.constant(r), m.constant(bias), "", "", "", "",
                 m.constant(scales[0]), m.constant(zeros[0]), m.constant(scales[1]), m.constant(zeros[1])]
        m.node("DynamicQuantizeLSTM", names, [outputs, *(np.stack(s) for s in zip(*last))],
               domain="com.microsoft", hidden_size=hidden, direction=direction)
        self.check(m, rtol=1e-4, atol=1e-4)

    def test_lstm(self):
        self.lstm("forward", False)
        self.lstm("bidirectional", True)

    def test_convolution_with_borders_and_zero_points(self):
        """The weights' sums along the border are those of a padded constant."""
        x = RNG.integers(0, 256, (1, 2, 5, 6)).astype(np.uint8)
        w = RNG.integers(0, 256, (3, 2, 3, 3)).astype(np.uint8)
        zeros = np.uint8(7), np.uint8(131)
        # Padding is the zero point: nothing, once that is subtracted.
        wide = np.pad(x.astype(np.int64) - zeros[0], ((0, 0), (0, 0), (1, 1), (1, 1)))
        view = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))
        want = np.einsum("ncijkl,fckl->nfij", view, w.astype(np.int64) - zeros[1]).astype(np.int32)
        m = Model(17)
        names = [m.input("x", x), m.input("w", w)]
        m.node("ConvInteger", [*names, *(m.constant(np.array(z)) for z in zeros)], want, pads=[1] * 4)
        m.node("ConvInteger", [*names, m.input("a", np.array(zeros[0])), m.input("b", np.array(zeros[1]))],
               want, pads=[1] * 4)
        self.check(m)

    def test_attention(self):
        batch, length, width, heads = 2, 5, 8, 2
        x = RNG.integers(0, 256, (batch, length, width)).astype(np.uint8)
        w = RNG.integers(-90, 90, (width, 3 * width)).astype(np.int8)
        bias, kept = floats(3 * width), np.array([[1] * length, [1, 1, 1, 0, 0]], np.int32)
        scale, zero = np.float32(0.01), np.uint8(120)
        scales = RNG.uniform(0.005, 0.02, 3 * width).astype(np.float32)
        all_ = (x.astype(np.float64) - zero) @ w.astype(np.float64) * (scale * scales) + bias
        q, k, v = (part.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3) for part in np.split(all_, 3, -1))
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(width // heads)
        scores = scores + np.where(kept[:, None, None], 0, -10000.0)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        want = (e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(x.shape).astype(np.float32)
        m = Model(17)
        m.node("QAttention", [m.input("x", x), m.constant(w), m.constant(bias), m.constant(scale),
                              m.constant(scales), m.input("kept", kept), m.constant(zero),
                              m.constant(np.zeros((), np.int8))], want, domain="com.microsoft", num_heads=heads)
        self.check(m, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
