#!/usr/bin/env python3
"""ONNX operators on the simulated device, against NumPy."""

import unittest

import numpy as np

from onnx_writer import Model
from operator_case import RNG, OperatorCase, floats, integers


class Operators(OperatorCase):
    def test_integer_arithmetic_wraps_and_truncates(self):
        m = Model(17)
        for dtype in (np.int32, np.int8, np.uint8):
            a, b = integers(dtype, 3, 7), integers(dtype, 3, 7)
            b[b == 0] = 3
            if dtype != np.uint8:
                b[b == -1] = 5  # The minimum over -1 does not fit.
            x, y = m.input(f"a{dtype.__name__}", a), m.input(f"b{dtype.__name__}", b)
            m.node("Add", [x, y], a + b)
            m.node("Sub", [x, y], a - b)
            m.node("Mul", [x, y], a * b)
            m.node("Div", [x, y], np.trunc(a.astype(float) / b).astype(dtype))
            m.node("Mod", [x, y], np.mod(a, b))
            m.node("Max", [x, y], np.maximum(a, b))
            m.node("Min", [x, y], np.minimum(a, b))
            m.node("Less", [x, y], a < b)
            m.node("GreaterOrEqual", [x, y], a >= b)
            m.node("Equal", [x, x], a == a)
        self.check(m)

    def test_casts(self):
        m = Model(17)
        a = np.array([-130.7, -1.5, -0.5, 0.0, 0.4, 2.5, 3.5, 126.9], np.float32)
        x = m.input("x", a)
        i = m.node("Cast", [x], a.astype(np.int32), to=6)
        m.node("Cast", [x], a.astype(np.int32).astype(np.int8), to=3)
        m.node("Cast", [x], a != 0, to=9)
        m.node("Cast", [i], a.astype(np.int32).astype(np.int8), to=3)
        m.node("Cast", [i], a.astype(np.int32).astype(np.float32), to=1)
        h = m.node("Cast", [x], a.astype(np.float16), to=10)
        m.node("Add", [h, h], a.astype(np.float16) + a.astype(np.float16))
        u = m.input("u", np.array([0, 1, 127, 128, 255], np.uint8))
        m.node("Cast", [u], np.array([0, 1, 127, 128, 255], np.int32), to=6)
        m.node("Cast", [u], np.array([0, 1, 127, 128, 255], np.float32), to=1)
        self.check(m)

    def test_logic_and_selection(self):
        m = Model(17)
        p, q = RNG.random((4, 5)) < 0.5, RNG.random((5,)) < 0.5
        a, b = floats(4, 5), floats(5)
        x, y = m.input("p", p), m.input("q", q)
        m.node("And", [x, y], p & q)
        m.node("Or", [x, y], p | q)
        m.node("Xor", [x, y], p ^ q)
        m.node("Not", [x], ~p)
        m.node("Where", [x, m.input("a", a), m.input("b", b)], np.where(p, a, b))
        self.check(m)

    def test_integer_products_are_exact(self):
        m = Model(17)
        for left in (np.int8, np.uint8):
            for right in (np.int8, np.uint8):
                a, b = integers(left, 5, 33), integers(right, 33, 9)
                za, zb = integers(left), integers(right)
                want = (a.astype(np.int32) - np.int32(za)) @ (b.astype(np.int32) - np.int32(zb))
                name = left.__name__ + right.__name__
                x = m.input("a" + name, a)
                m.node("MatMulInteger",
                       [x, m.constant(b), m.constant(za), m.constant(zb)], want)
                # The same with zero points that only the device knows.
                m.node("MatMulInteger",
                       [x, m.constant(b), m.input("za" + name, za), m.input("zb" + name, zb)], want)
        self.check(m)

    def test_quantisation_rounds_to_even_and_saturates(self):
        m = Model(17)
        a = np.array([-300, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 300], np.float32)
        x, one = m.input("x", a), m.constant(np.float32(1))
        want = np.clip(np.rint(a) + 3, 0, 255).astype(np.uint8)
        q = m.node("QuantizeLinear", [x, one, m.constant(np.uint8(3))], want)
        m.node("QuantizeLinear", [x, one, m.constant(np.int8(-4))],
               np.clip(np.rint(a) - 4, -128, 127).astype(np.int8))
        m.node("DequantizeLinear", [q, m.constant(np.float32(0.5)), m.constant(np.uint8(3))],
               (want.astype(np.float32) - 3) * np.float32(0.5))
        self.check(m)

    def test_moved_elements(self):
        m = Model(17)
        a = floats(2, 6, 5)
        x = m.input("x", a)

        def ints(*values):
            return m.constant(np.array(values, np.int64))

        m.node("Slice", [x, ints(1, -1), ints(5, -6), ints(1, 2), ints(2, -2)], a[:, 1:5:2, ::-2])
        m.node("Split", [x, ints(1, 3, 2)], np.split(a, [1, 4], 1), axis=1)
        m.node("Gather", [x, ints(3, -1, 0)], a[:, [3, -1, 0]], axis=1)
        m.node("Pad", [x, ints(0, 1, -1, 1, 0, 2), m.constant(np.float32(7))],
               np.pad(a[:, :, 1:], ((0, 1), (1, 0), (0, 2)), constant_values=7))
        m.node("Pad", [x, ints(0, 2, 0, 0, 1, 3)], np.pad(a, ((0, 0), (2, 1), (0, 3)), "reflect"),
               mode="reflect")
        m.node("Tile", [x, ints(2, 1, 3)], np.tile(a, (2, 1, 3)))
        m.node("Expand", [m.input("r", a[:, :1]), ints(2, 4, 1)], np.broadcast_to(a[:, :1], (2, 4, 5)))
        m.node("Trilu", [x], np.triu(a))
        self.check(m)

    def test_constants_are_computed_while_importing(self):
        m = Model(17)
        a = floats(2, 6, 5)
        x = m.input("x", a)
        two = m.constant(np.array([2], np.int64))
        shape = m.node("Shape", [x], np.array([2, 6, 5], np.int64))
        del m.outputs[-1], m.expected[-1]

        def hidden(op, inputs, **attributes):
            name = m.node(op, inputs, np.zeros(1, np.int64), **attributes)
            del m.outputs[-1], m.expected[-1]
            return name

        rows = hidden("Gather", [shape, m.constant(np.array([1], np.int64))])
        half = hidden("Div", [rows, two])
        target = hidden("Concat", [half, m.constant(np.array([-1], np.int64))], axis=0)
        m.node("Reshape", [x, target], a.reshape(3, -1))
        self.check(m)

    def test_normalisations(self):
        m = Model(18)
        a, scale, bias = floats(3, 8, 5), floats(5), floats(5)
        x = m.input("x", a)
        centred = a - a.mean(-1, keepdims=True)
        want = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * scale + bias
        m.node("LayerNormalization", [x, m.constant(scale), m.constant(bias)], want)
        scale, bias = floats(8), floats(8)
        centred = a - a.mean(-1, keepdims=True)
        want = (centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) *
                scale[:, None] + bias[:, None])
        m.node("InstanceNormalization", [x, m.constant(scale), m.constant(bias)], want)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_resize(self):
        m = Model(18)
        a = floats(1, 2, 3, 4)
        x = m.input("x", a)
        scales = m.constant(np.array([1, 1, 2, 2], np.float32))
        m.node("Resize", [x, "", scales], a.repeat(2, 2).repeat(2, 3), mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")

        def linear(array, axis, out):
            extent = array.shape[axis]
            at = np.clip((np.arange(out) + 0.5) * extent / out - 0.5, 0, extent - 1)
            low = np.minimum(at.astype(int), extent - 2)
            weight = (at - low).astype(np.float32)
            weight = weight.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
            return (array.take(low, axis) * (1 - weight) + array.take(low + 1, axis) * weight)

        m.node("Resize", [x, "", scales], linear(linear(a, 2, 6), 3, 8), mode="linear")
        # The corners are those of the exact width, 0.6 * 4 = 2.4.
        ramp = m.input("ramp", np.array([1, 2, 3, 4], np.float32))
        m.node("Resize", [ramp, "", m.constant(np.array([0.6], np.float32))],
               np.array([1, 1 + 3 / 1.4], np.float32), mode="linear",
               coordinate_transformation_mode="align_corners")
        self.check(m)

    def test_powers(self):
        m = Model(17)
        a = floats(4, 6, low=0.1, high=3.0)
        b = np.array([-2, -1, 0, 1, 2, 3], np.float32)
        x = m.input("x", a)
        for exponent in (-1.0, 0.5, 2.0, 3.0, 1.7):
            m.node("Pow", [x, m.constant(np.float32(exponent))], a ** np.float32(exponent))
        m.node("Pow", [m.input("n", -a), m.input("b", b)], (-a) ** b)
        self.check(m)


    def test_integer_powers(self):
        m = Model(17)
        base = np.array([-3, -2, -1, 0, 1, 2, 3, 7, 46341, -2**31], np.int32)[:, None]
        power = np.array([0, 1, 2, 3, 5, 30, 31, 63], np.int32)
        x, n = m.input("x", base), m.input("n", power)
        # Modulo 2^32, as NumPy's.
        m.node("Pow", [x, n], base ** power)
        # With a negative exponent only 1 and -1 leave something.
        below = np.array([-1, -2, -31], np.int32)
        ones = np.array([1, -1], np.int32)[:, None]
        m.node("Pow", [m.input("ones", ones), m.input("below", below)],
               np.where(below % 2 == 0, 1, ones).astype(np.int32))
        m.node("Pow", [m.input("others", np.array([2, -5, 100], np.int32)[:, None]), "below"],
               np.zeros((3, 3), np.int32))
        # Whole exponents of floats are exact, others lose the fraction.
        small = np.array([1, 2, 3, 10], np.int32)
        m.node("Pow", [m.input("small", small), m.input("f", np.float32([4, 5, 6, 9]))],
               np.array([1, 32, 729, 10 ** 9], np.int32))
        m.node("Pow", ["small", m.input("g", np.float32([0.5, 0.5, 1.5, 2.25]))],
               np.array([1, 1, 5, 177], np.int32))
        self.check(m)

    def test_nothing_to_compute(self):
        m = Model(17)
        x = np.zeros((0, 4), np.float32)
        m.node("Slice", [m.input("x", floats(3, 4)), *(m.constant(np.array([v])) for v in (3, 5))],
               x)
        self.check(m)

if __name__ == "__main__":
    unittest.main()
