#!/usr/bin/env python3
"""Element-wise operations in long chains and with many values at a time: more than one
program of the lanes has operations or registers for."""

import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase, floats


class LongChains(OperatorCase):
    def keep_last(self, model):
        model.outputs, model.expected = model.outputs[-1:], model.expected[-1:]
        return model

    def test_more_operations_than_a_program_has(self):
        model = Model(17)
        want = floats(64)
        name = model.input("x", want)
        for i in range(1100):
            op, want = [("Neg", -want), ("Abs", np.abs(want)), ("Relu", np.maximum(want, 0))][i % 3]
            name = model.node(op, [name], want)
        self.check(self.keep_last(model))

    def test_values_that_wait(self):
        """Each of 24 values in a row is read by the next one and, in the other order, later."""
        for arch in ("tiny", "edge"):
            model = Model(17)
            values = [(model.input("x", x := floats(5, 13)), x)]
            for i in range(24):
                name, x = values[-1]
                op, want = ("Tanh", np.tanh(x)) if i % 2 else ("Sin", np.sin(x))
                values.append((model.node(op, [name], want), want))
            total, want = values.pop()
            for name, x in reversed(values):
                half = model.constant(np.array(0.5, np.float32))
                mean = model.node("Mul", [total, half], want * np.float32(0.5))
                want = want * np.float32(0.5) + x
                total = model.node("Add", [mean, name], want)
            self.check(self.keep_last(model), arch, rtol=1e-4, atol=1e-5)

    def test_large_functions_one_after_the_other(self):
        model = Model(17)
        x = floats(40, low=1.1, high=2)
        name = model.input("x", x)
        want = x.astype(np.float64)
        for _ in range(12):
            for op, function in (("Atan", np.arctan), ("Tan", np.tan), ("Asinh", np.arcsinh)):
                want = function(want)
                name = model.node(op, [name], want.astype(np.float32))
        self.check(self.keep_last(model), rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
