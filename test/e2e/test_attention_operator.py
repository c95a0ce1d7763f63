#!/usr/bin/env python3
"""ONNX Attention with masks, windows and caches; constants and narrow floats; against NumPy."""

import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase, floats

INF = np.inf


def attend(q, k, v, bias, softcap=0.0):
    """The stages that the operator can show, and its result."""
    raw = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    capped = softcap * np.tanh(raw / softcap) if softcap else raw
    biased = capped + bias
    with np.errstate(invalid="ignore"):
        weights = np.exp(biased - biased.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
    weights = np.where(np.isneginf(np.broadcast_to(bias, biased.shape)).all(-1, keepdims=True), 0, weights)
    stages = [s.astype(np.float32) for s in (raw, capped, biased, weights)]
    return (weights @ v).astype(np.float32), stages


class Attention(OperatorCase):
    def operands(self, m, queries=4, keys=6):
        arrays = [floats(2, 3, queries, 8), floats(2, 3, keys, 8), floats(2, 3, keys, 5)]
        return arrays, [m.input(n, a) for n, a in zip("qkv", arrays)]

    def test_the_cap_comes_before_the_mask(self):
        m = Model(23)
        (q, k, v), names = self.operands(m)
        mask = np.where(np.random.default_rng(2).random((4, 6)) < 0.3, -INF, floats(4, 6)).astype(np.float32)
        mask[:, 2] = 1
        mask[3] = -INF
        wanted, stages = attend(q, k, v, mask, 2.0)
        added = m.input("mask", mask)
        for mode, stage in enumerate(stages):
            m.node("Attention", [*names, added], [wanted, None, None, stage], softcap=2.0,
                   qk_matmul_output_mode=mode)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_a_query_without_keys_gives_zeros(self):
        m = Model(23)
        (q, k, v), names = self.operands(m)
        kept = np.random.default_rng(4).random((2, 1, 4, 6)) < 0.5
        kept[0, 0, 1] = kept[1, 0, 3] = False
        wanted, _ = attend(q, k, v, np.where(kept, 0, -INF))
        m.node("Attention", [*names, m.input("kept", kept)], wanted)
        m.node("Attention", [*names, m.constant(kept)], wanted)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_the_last_queries_of_a_cache(self):
        m = Model(24)
        (q, k, v), names = self.operands(m)
        counts = np.array([6, 3], np.int64)  # Of keys; the second has fewer than queries.
        at = (counts - 4)[:, None, None, None] + np.arange(4)[:, None]
        keys = np.arange(6)
        valid = keys < counts[:, None, None, None]
        number = m.input("counts", counts)
        past = np.where(valid & (keys <= at), 0, -INF)
        m.node("Attention", [*names, "", "", "", number], attend(q, k, v, past)[0], is_causal=1)
        m.node("Attention", [*names, "", "", "", number], attend(q, k, v, np.where(valid, 0, -INF))[0])
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_windows(self):
        m = Model(25)
        (q, k, v), names = self.operands(m)
        steps = np.arange(6) - np.arange(4)[:, None]
        for left, right, causal in ((1, -1, 1), (2, 1, 0), (-1, 0, 0), (0, 0, 1)):
            kept = (left < 0) | (steps >= -left)
            kept &= (right < 0) | (steps <= right)
            kept &= (steps <= 0) | (not causal)
            m.node("Attention", names, attend(q, k, v, np.where(kept, 0, -INF))[0], is_causal=causal,
                   left_window_size=left, right_window_size=right)
        self.check(m, rtol=1e-4, atol=1e-5)


class Constants(OperatorCase):
    def test_narrow_floats(self):
        m = Model(27)
        numbers = [m.constant(np.array(n, np.float16)) for n in (0.1, 1, 0.3)]
        start, step = np.float16(0.1), np.float16(0.3)
        want = (np.float64(start) + np.arange(3) * np.float64(step)).astype(np.float16)
        m.node("Range", numbers, want)
        x = floats(3, 4).astype(np.float16)
        m.node("Pad", [m.input("x", x), m.constant(np.array([0, 1, 0, 0], np.int64)), numbers[1]],
               np.pad(x, ((0, 0), (1, 0)), constant_values=1))
        self.check(m, rtol=0, atol=0)

    def test_products_of_narrow_floats(self):
        """Factors that moves, or one of which a conversion, separates from where they widen."""
        m = Model(13)
        x, w = floats(1, 2, 3, 4).astype(np.float16), floats(2, 3, 2, 2).astype(np.float16)
        want = np.zeros((1, 3, 6, 8))
        for i in range(3):
            for j in range(4):
                want[:, :, 2 * i:2 * i + 2, 2 * j:2 * j + 2] += np.einsum(
                    "nc,cfhw->nfhw", x[:, :, i, j].astype(float), w.astype(float))
        m.node("ConvTranspose", [m.input("x", x), m.constant(w)], want.astype(np.float16), strides=[2, 2])
        a, b = floats(3, 4).astype(np.float16), floats(4, 5)
        wide = m.node("Cast", [m.input("a", a)], a.astype(np.float32), to=1)
        m.node("MatMul", [wide, m.input("b", b)], (a.astype(float) @ b).astype(np.float32))
        m.node("MatMul", [wide, m.constant(b)], (a.astype(float) @ b).astype(np.float32))
        self.check(m, rtol=1e-3, atol=1e-3)

    def test_nothing_to_reduce(self):
        m = Model(20)
        x = m.constant(np.zeros((2, 0, 3), np.float32))
        axes = m.constant(np.array([1], np.int64))
        for op, value in (("ReduceSum", 0), ("ReduceProd", 1), ("ReduceMax", -INF), ("ReduceMin", INF),
                          ("ReduceL1", 0), ("ReduceL2", 0), ("ReduceLogSum", -INF),
                          ("ReduceLogSumExp", -INF), ("ReduceSumSquare", 0)):
            m.node(op, [x, axes], np.full((2, 1, 3), value, np.float32))
        whole = floats(2, 5)
        sizes = m.constant(np.array([0, 5], np.int64))
        m.node("Split", [m.input("x", whole), sizes], [whole[:, :0], whole], axis=1)
        self.check(m, rtol=0, atol=0)

    def test_gated_unit(self):
        m = Model(28)
        a, b = floats(3, 5), floats(3, 5)
        wide = a.astype(np.float64)
        m.node("SwiGLU", [m.input("a", a), m.input("b", b)],
               (wide / (1 + np.exp(-0.5 * wide)) * b).astype(np.float32), alpha=0.5)
        self.check(m)


if __name__ == "__main__":
    unittest.main()
