#!/usr/bin/env python3
"""The heads of detectors in f16: every operator rounds as its definition has it, bit for bit."""

import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase

HALF = np.float16


def rounded(x):
    return np.asarray(x, np.float32).astype(HALF)


class NarrowHeads(OperatorCase):
    """Everything is an output, so that nothing hides behind what follows it."""

    def test_boxes_from_anchors(self):
        rng, m = np.random.default_rng(0), Model(17)
        anchors, values, size = 3, 9, 8
        x = rng.standard_normal((1, anchors, size, size, values)).astype(HALF)
        sigmoid = rounded(1 / (1 + np.exp(-x.astype(np.float64))))
        center, extent, rest = sigmoid[..., :2], sigmoid[..., 2:4], sigmoid[..., 4:]

        def number(value):
            return m.constant(np.array(value, HALF))

        def step(op, names, function, *operands, **attributes):
            want = rounded(function(*(o.astype(np.float32) for o in operands)))
            return m.node(op, names, want, **attributes), want
        s = m.node("Sigmoid", [m.input("x", x)], sigmoid)
        first = m.node("Split", [s, m.constant(np.array([2, 2, values - 4], np.int64))],
                       [center, extent, rest], axis=4).removesuffix("_0")
        grid = (np.stack(np.meshgrid(np.arange(size), np.arange(size)), -1) - 0.5).astype(HALF)
        boxes = rng.uniform(10, 373, (1, anchors, 1, 1, 2)).astype(HALF)
        name, at = step("Mul", [f"{first}_0", number(2)], lambda a: a * 2, center)
        name, at = step("Add", [name, m.constant(grid)], np.add, at, grid)
        name, at = step("Mul", [name, number(32)], lambda a: a * 32, at)
        wide, far = step("Mul", [f"{first}_1", number(2)], lambda a: a * 2, extent)
        wide, far = step("Pow", [wide, number(2)], np.square, far)
        wide, far = step("Mul", [wide, m.constant(boxes)], np.multiply, far, boxes)
        step("Exp", [f"{first}_1"], lambda a: np.exp(a.astype(np.float64)), extent)
        whole = np.concatenate([at, far, rest], -1)
        m.node("Concat", [name, wide, f"{first}_2"], whole, axis=4)
        self.check(m, rtol=0, atol=0)

    def test_boxes_from_distributions(self):
        rng, m = np.random.default_rng(1), Model(17)
        bins, places = 16, 20
        x = (rng.standard_normal((1, 4, bins, places)) * 3).astype(HALF).transpose(0, 2, 1, 3)
        e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
        weights = rounded(e / e.sum(1, keepdims=True))
        steps = np.arange(bins).astype(HALF).reshape(1, bins, 1, 1)
        name = m.node("Softmax", [m.input("x", np.ascontiguousarray(x))], weights, axis=1)
        # The sums of f32 are too near to the exact ones to be rounded otherwise here.
        want = rounded((weights.astype(np.float64) * steps).sum(1, keepdims=True))
        m.node("Conv", [name, m.constant(steps)], want)
        self.check(m, rtol=0, atol=0)


if __name__ == "__main__":
    unittest.main()
