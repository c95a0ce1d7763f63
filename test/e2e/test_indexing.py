#!/usr/bin/env python3
"""Computed positions, 64-bit integers, einsum and attention against NumPy."""

import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase, floats, integers

RNG = np.random.default_rng(11)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Positions(OperatorCase):
    def test_gathers_keep_every_bit(self):
        m = Model(17)
        table = floats(13, 5)
        table[3, 1], table[4, 2], table[5, 0] = -0.0, np.inf, -np.inf
        table[6, 3] = np.float32(1e-42)
        index = np.array([[12, 3, -1], [4, 5, 6]], np.int64)
        t, i = m.input("table", table), m.input("index", index)
        m.node("Gather", [t, i], table[index], axis=0)
        columns = np.array([4, 0, 0, 2], np.int32)
        c = m.input("columns", columns)
        m.node("Gather", [t, c], table[:, columns], axis=1)
        picks = integers(np.int64, 13, 3, low=-5, high=4)
        p = m.input("picks", picks)
        m.node("GatherElements", [t, p], np.take_along_axis(table, picks, 1), axis=1)
        pairs = np.array([[0, 4], [12, 0], [-1, -5], [6, 3]], np.int64)
        n = m.input("pairs", pairs)
        m.node("GatherND", [t, n], table[pairs[:, 0], pairs[:, 1]])
        bytes_ = integers(np.int8, 7, 3)
        b, rows = m.input("bytes", bytes_), np.array([6, 0, 2], np.int64)
        r = m.input("rows", rows)
        m.node("Gather", [b, r], bytes_[rows], axis=0)
        wide = integers(np.int64, 6, 2)
        w, few = m.input("wide", wide), np.array([5, 1], np.int64)
        f = m.input("few", few)
        m.node("Gather", [w, f], wide[few], axis=0)
        self.check(m, rtol=0, atol=0)

    def test_scatters(self):
        m = Model(18)
        data = floats(7, 4)
        index = np.array([[1, 3, 3, 0], [6, 3, 2, 0], [1, -1, 5, 4]], np.int64)
        updates = floats(3, 4)
        d, i, u = m.input("data", data), m.input("index", index), m.input("updates", updates)
        for reduction in ("none", "add", "mul", "max", "min"):
            want = data.copy()
            for row in range(3):
                for column in range(4):
                    at, value = index[row, column], updates[row, column]
                    old = want[at, column]
                    want[at, column] = {"none": value, "add": old + value, "mul": old * value,
                                        "max": max(old, value), "min": min(old, value)}[reduction]
            m.node("ScatterElements", [d, i, u], want, axis=0, reduction=reduction)
        rows = np.array([[5], [0], [5]], np.int64)
        values = floats(3, 4)
        r, v = m.input("rows", rows), m.input("values", values)
        want = data.copy()
        for row, value in zip(rows[:, 0], values):
            want[row] = value
        m.node("ScatterND", [d, r, v], want)
        want = data.copy()
        np.add.at(want, rows[:, 0], values)
        m.node("ScatterND", [d, r, v], want, reduction="add")
        self.check(m)

    def test_ranking(self):
        m = Model(18)
        x = floats(3, 11).round(1)  # With ties.
        v = m.input("x", x)
        m.node("ArgMax", [v], x.argmax(1)[:, None], axis=1)
        m.node("ArgMin", [v], x.argmin(0), axis=0, keepdims=0)
        m.node("ArgMax", [v], 10 - x[:, ::-1].argmax(1), axis=1, keepdims=0, select_last_index=1)
        order = np.argsort(-x, 1, kind="stable")[:, :4]
        m.node("TopK", [v, m.constant(np.array([4], np.int64))],
                     [np.take_along_axis(x, order, 1), order], axis=1)
        order = np.argsort(x, 0, kind="stable")[:2]
        m.node("TopK", [v, m.constant(np.array([2], np.int64))],
                     [np.take_along_axis(x, order, 0), order], axis=0, largest=0)
        classes = np.array([0, 4, -1, 7, 2], np.int64)
        c = m.input("classes", classes)
        want = np.where((classes % 5)[:, None] == np.arange(5), 3, -1).astype(np.float32)
        want[3] = -1  # Outside.
        m.node("OneHot", [c, m.constant(np.array(5, np.int64)),
                          m.constant(np.array([-1, 3], np.float32))], want)
        self.check(m, rtol=0, atol=0)


    def test_many_known_positions(self):
        """Backwards, in a pattern, and in no order, along more than a thousand elements."""
        m = Model(13)
        x = floats(2, 1009)
        x[0, 3], x[1, 1000] = np.inf, -0.0
        v = m.input("x", x)

        def integers_of(*values):
            return m.constant(np.array(values, np.int64))
        for step in (-1, -3):
            m.node("Slice", [v, integers_of(-1), integers_of(-5000), integers_of(1), integers_of(step)],
                   x[:, ::step])
        picks = RNG.permutation(1009)[:400]
        m.node("Gather", [v, m.constant(picks.astype(np.int64))], x[:, picks], axis=1)
        bytes_ = integers(np.int8, 700, 3)
        b = m.input("bytes", bytes_)
        m.node("Slice", [b, integers_of(-1), integers_of(-5000), integers_of(0), integers_of(-1)],
               bytes_[::-1])
        # 2 positions for every 3 elements and 5 for every 2: scales that are no integers.
        for scale in (2 / 3, 2.5):
            count = int(1009 * scale)
            at = np.minimum(np.floor(np.arange(count) / np.float32(scale)).astype(int), 1008)
            m.node("Resize", [v, "", m.constant(np.array([1, scale], np.float32))], x[:, at],
                   mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        self.check(m, rtol=0, atol=0)


class WideIntegers(OperatorCase):
    def test_arithmetic_is_exact_modulo_two_to_the_64(self):
        m = Model(17)
        a = np.array([0, 1, -1, 2**31, -2**31 - 1, 2**32, 2**63 - 1, -2**63, 12345678901], np.int64)
        b = np.array([7, 2**32, -2, -2**31, 5, 2**32 - 1, 1, -1, -98765432109], np.int64)
        x, y = m.input("a", a), m.input("b", b)
        with np.errstate(over="ignore"):
            m.node("Add", [x, y], a + b)
            m.node("Sub", [x, y], a - b)
            m.node("Mul", [x, y], a * b)
            m.node("Neg", [x], -a)
            m.node("Abs", [x], np.abs(a))
        m.node("Max", [x, y], np.maximum(a, b))
        m.node("Min", [x, y], np.minimum(a, b))
        m.node("Less", [x, y], a < b)
        m.node("GreaterOrEqual", [x, y], a >= b)
        m.node("Equal", [x, y], a == b)
        less = m.node("Greater", [x, y], a > b)
        m.node("Where", [less, x, y], np.where(a > b, a, b))
        m.node("Cast", [x], a.astype(np.int32), to=6)
        m.node("Cast", [x], a != 0, to=9)
        self.check(m)

    def test_conversion_to_float_rounds_once(self):
        m = Model(17)
        a = np.concatenate([integers(np.int64, 40) >> integers(np.int64, 40, low=0, high=62),
                            [2**63 - 1, -2**63, 2**55 + 2**31, 2**55 + 2**31 + 1,
                             -(2**40 + 2**16), 2**24 + 1, 2**32 - 1, 2**32]]).astype(np.int64)
        m.node("Cast", [m.input("a", a)], a.astype(np.float32), to=1)
        f = np.array([0.5, -0.5, 3.99e9, -3.99e9, 1e15, -1e18, 2.0**62, -1.0], np.float32)
        m.node("Cast", [m.input("f", f)], f.astype(np.int64), to=7)
        self.check(m, rtol=0, atol=0)

    def test_masks(self):
        m = Model(17)
        mask = integers(np.int64, 2, 6, low=0, high=1)
        x = m.input("mask", mask)
        f = m.node("Cast", [x], mask.astype(np.float32), to=1)
        m.node("Mul", [f, m.constant(np.float32(-10000))], mask.astype(np.float32) * -10000)
        m.node("Concat", [x, x], np.concatenate([mask, mask], 1), axis=1)
        m.node("Transpose", [x], mask.T)
        self.check(m)


class Composites(OperatorCase):
    def test_einsum(self):
        m = Model(17)
        a, b, c = floats(3, 4, 5), floats(3, 5, 2), floats(4, 4)
        x, y, z = m.input("a", a), m.input("b", b), m.input("c", c)
        for equation, names, arrays in (
                ("bij,bjk->bik", [x, y], (a, b)), ("bij,bjk", [x, y], (a, b)),
                ("...ij->...ji", [x], (a,)), ("ii->i", [z], (c,)), ("ij->", [z], (c,)),
                ("bij,ik,bjl->bkl", [x, z, y], (a, c, b)), ("bij,bij->b", [x, x], (a, a))):
            m.node("Einsum", names, np.einsum(equation, *arrays).astype(np.float32),
                   equation=equation)
        self.check(m)

    def attention(self, q, k, v, mask=None, causal=False, scale=None):
        scale = scale or 1 / np.sqrt(q.shape[-1])
        times = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, times, 1), np.repeat(v, times, 1)
        scores = q @ k.swapaxes(2, 3) * np.float32(scale)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
        if causal:
            scores = np.where(np.tri(q.shape[2], k.shape[2], dtype=bool), scores, -np.inf)
        return (softmax(scores) @ v).astype(np.float32)

    def test_attention(self):
        m = Model(23)
        q, k, v = floats(2, 4, 5, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 8)
        names = [m.input(n, array) for n, array in (("q", q), ("k", k), ("v", v))]
        m.node("Attention", names, self.attention(q, k, v, causal=True), is_causal=1)
        mask = RNG.random((5, 5)) < 0.7
        mask[:, 0] = True
        m.node("Attention", names + [m.input("mask", mask)],
               self.attention(q, k, v, mask, scale=0.5), scale=0.5)
        flat = [m.input(n, array.swapaxes(1, 2).reshape(2, 5, -1))
                for n, array in (("fq", q), ("fk", k), ("fv", v))]
        want = self.attention(q, k, v).swapaxes(1, 2).reshape(2, 5, -1)
        m.node("Attention", flat, want, q_num_heads=4, kv_num_heads=2)
        self.check(m)

    def test_rotary_embedding(self):
        m = Model(23)
        x = floats(2, 3, 4, 8)
        angles = floats(10, 4)
        positions = integers(np.int64, 2, 4, low=0, high=9)
        names = [m.input(n, a) for n, a in (("x", x), ("cos", np.cos(angles)),
                                            ("sin", np.sin(angles)), ("at", positions))]
        cos, sin = (f(angles)[positions][:, None] for f in (np.cos, np.sin))
        for interleaved in (0, 1):
            a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :4], x[..., 4:])
            pair = (cos * a - sin * b, sin * a + cos * b)
            want = (np.stack(pair, -1).reshape(x.shape) if interleaved
                    else np.concatenate(pair, -1))
            m.node("RotaryEmbedding", names, want.astype(np.float32), interleaved=interleaved)
        self.check(m)


if __name__ == "__main__":
    unittest.main()
