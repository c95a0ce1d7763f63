#!/usr/bin/env python3
"""Operators of the domain com.microsoft against NumPy."""

import math
import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase, floats, integers

FUSED = {"domain": "com.microsoft"}
ERF = np.vectorize(math.erf)


def gelu(x):
    return x / 2 * (1 + ERF(x / math.sqrt(2)))


def layer_norm(x, scale, bias, epsilon, centers=True):
    if centers:
        x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale + bias


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def attention(q, k, v, heads, added=0.0, scale=None):
    """Of [batch, length, heads * size]."""
    def split(x):
        return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3).astype(np.float64)
    q, k, v = split(q), split(k), split(v)
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or 1 / math.sqrt(q.shape[-1])) + added
    out = (softmax(scores) @ v).transpose(0, 2, 1, 3)
    return out.reshape(*out.shape[:2], -1).astype(np.float32)


def f32(x):
    return np.asarray(x, np.float32)


class Floats(OperatorCase):
    def test_activations(self):
        m = Model(17)
        x, bias = floats(2, 5, 7), floats(7)
        v, b = m.input("x", x), m.constant(bias)
        wide = x.astype(np.float64)
        m.node("Gelu", [v], f32(gelu(wide)), **FUSED)
        m.node("BiasGelu", [v, b], f32(gelu(wide + bias)), **FUSED)
        y = wide + bias
        tanh = np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3))
        m.node("FastGelu", [v, b], f32(y / 2 * (1 + tanh)), **FUSED)
        m.node("QuickGelu", [v], f32(wide / (1 + np.exp(-1.5 * wide))), alpha=1.5, **FUSED)
        self.check(m)

    def test_normalisations(self):
        m = Model(17)
        x, skip = floats(2, 3, 11), floats(2, 3, 11)
        scale, beta, bias = floats(11), floats(11), floats(11)
        a, s = m.input("x", x), m.input("skip", skip)
        g, b, c = m.constant(scale), m.constant(beta), m.constant(bias)
        total = x + skip + bias
        m.node("SkipLayerNormalization", [a, s, g, b, c],
               [f32(layer_norm(total, scale, beta, 1e-5)), None, None, total], epsilon=1e-5, **FUSED)
        m.node("SkipLayerNormalization", [a, s, g],
               f32(layer_norm(x + skip, scale, 0, 1e-12)), **FUSED)
        m.node("SkipSimplifiedLayerNormalization", [a, s, g, c],
               [f32(layer_norm(total, scale, 0, 1e-5, False)), None, None, total], epsilon=1e-5,
               **FUSED)
        m.node("SimplifiedLayerNormalization", [a, g], f32(layer_norm(x, scale, 0, 1e-6, False)),
               axis=-1, epsilon=1e-6)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_embeddings(self):
        m = Model(17)
        ids, segments = integers(np.int32, 2, 5, low=0, high=12), integers(np.int32, 2, 5, low=0, high=1)
        mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)
        words, places, kinds, scale, bias = floats(13, 8), floats(7, 8), floats(2, 8), floats(8), floats(8)
        total = words[ids] + places[:5] + kinds[segments]
        tables = [m.constant(t) for t in (words, places, kinds, scale, bias)]
        m.node("EmbedLayerNormalization",
               [m.input("ids", ids), m.input("segments", segments), *tables, m.input("mask", mask)],
               [f32(layer_norm(total, scale, bias, 1e-5)), mask.sum(1, dtype=np.int32), total],
               epsilon=1e-5, **FUSED)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_products(self):
        m = Model(17)
        a, b, c = floats(2, 5, 4), floats(2, 3, 4), floats(5, 3)
        x, y, z = m.input("a", a), m.input("b", b), m.input("c", c)
        m.node("FusedMatMul", [x, y], f32(a @ b.transpose(0, 2, 1) * 0.5), transB=1, alpha=0.5, **FUSED)
        m.node("FusedMatMul", [x, z], f32(a.transpose(0, 2, 1) @ c), transA=1, **FUSED)
        product = c.T @ c + 1
        ones = m.constant(np.ones(3, np.float32))
        m.node("FusedGemm", [z, z, ones], f32(np.where(product < 0, product * 0.25, product)), transA=1,
               activation="LeakyRelu", activation_alpha=0.25, **FUSED)
        image, weights = floats(1, 2, 5, 6), floats(3, 2, 1, 1)
        conv = np.einsum("nchw,fc->nfhw", image, weights[:, :, 0, 0])
        i, w, n = m.input("image", image), m.constant(weights), m.input("more", floats(1, 3, 5, 6))
        more = m.inputs[-1][1]
        bias = m.constant(f32([1, 2, 3]))
        conv = conv + f32([1, 2, 3])[:, None, None]
        m.node("FusedConv", [i, w, bias], f32(np.clip(conv, 0, 1.5)), activation="Clip",
               activation_params=[0.0, 1.5], **FUSED)
        m.node("FusedConv", [i, w, bias, n], f32(np.maximum(conv + more, 0)), activation="Relu", **FUSED)
        self.check(m)

    def test_weights_of_few_bits(self):
        # Blocks of 16 along 40 columns: the last block is cut.
        for bits in (4, 8):
            m = Model(17)
            x = floats(3, 40)
            numbers = integers(np.uint8, 5, 48, low=0, high=2**bits - 1)
            scales, zeros = floats(5, 3), integers(np.uint8, 5, 3, low=0, high=2**bits - 1)
            wide = (numbers.reshape(5, 3, 16).astype(np.float32) - zeros[..., None]) * scales[..., None]
            want = x.astype(np.float64) @ wide.reshape(5, 48)[:, :40].T.astype(np.float64)

            def pack(values):
                if bits == 8:
                    return values
                values = np.pad(values, ((0, 0), (0, values.shape[1] % 2)))
                return values[:, ::2] | values[:, 1::2] << 4
            m.node("MatMulNBits", [m.input("x", x), m.constant(pack(numbers).reshape(5, 3, -1)),
                                   m.constant(scales.ravel()), m.constant(pack(zeros).ravel())],
                   f32(want), K=40, N=5, bits=bits, block_size=16, **FUSED)
            self.check(m, rtol=1e-4, atol=1e-3)


class Attention(OperatorCase):
    def test_packed(self):
        m = Model(17)
        x, weights, bias = floats(2, 5, 8), floats(8, 24), floats(24)
        q, k, v = np.split(x @ weights + bias, 3, -1)
        operands = [m.input("x", x), m.constant(weights), m.constant(bias)]
        lengths = np.array([3, 5], np.int32)
        kept = (np.arange(5) < lengths[:, None])[:, None, None]
        m.node("Attention", [*operands, m.input("lengths", lengths)],
               attention(q, k, v, 2, np.where(kept, 0, -10000)), num_heads=2, **FUSED)
        m.node("Attention", [*operands, m.input("mask", kept[:, 0, 0].astype(np.int32))],
               attention(q, k, v, 2, np.where(kept, 0, -10000)), num_heads=2, **FUSED)
        future = np.where(np.tri(5, dtype=bool), 0, -np.inf)
        m.node("Attention", operands, attention(q, k, v, 2, future), num_heads=2, unidirectional=1,
               **FUSED)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_separate(self):
        m = Model(17)
        q, k, v, bias = floats(2, 5, 8), floats(2, 7, 8), floats(2, 7, 8), floats(24)
        operands = [m.input("q", q), m.input("k", k), m.input("v", v)]
        added = floats(1, 2, 5, 7)
        m.node("MultiHeadAttention", [*operands, m.constant(bias), "", m.input("added", added)],
               attention(q + bias[:8], k + bias[8:16], v + bias[16:], 2, added, 0.3), num_heads=2,
               scale=0.3, **FUSED)
        past = floats(2, 2, 3, 4)
        p = m.input("past", past)
        whole = np.concatenate([past, k.reshape(2, 7, 2, 4).transpose(0, 2, 1, 3)], 2)
        values = np.concatenate([past, v.reshape(2, 7, 2, 4).transpose(0, 2, 1, 3)], 2)

        def flat(x):
            return x.transpose(0, 2, 1, 3).reshape(2, 10, 8)
        m.node("MultiHeadAttention", [*operands, "", "", "", p, p],
               [attention(q, flat(whole), flat(values), 2), whole, values], num_heads=2, **FUSED)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_rotary_embedding(self):
        m = Model(17)
        x, angle = floats(2, 5, 2, 8), floats(9, 4)
        at = integers(np.int64, 2, 5, low=0, high=8)
        cos, sin = np.cos(angle), np.sin(angle)
        tables = [m.constant(cos), m.constant(sin)]

        def rotate(positions, first, second):
            c, s = cos[positions][..., None, :], sin[positions][..., None, :]
            return c * first - s * second, s * first + c * second
        halves = rotate(at, x[..., :4], x[..., 4:])
        flat = m.input("x", x.reshape(2, 5, 16))
        m.node("RotaryEmbedding", [flat, m.input("at", at), *tables],
               f32(np.concatenate(halves, -1).reshape(2, 5, 16)), **FUSED)
        pairs = rotate(np.arange(3, 8)[None], x[..., ::2], x[..., 1::2])
        m.node("RotaryEmbedding", [flat, m.input("first", np.array([3], np.int64)), *tables],
               f32(np.stack(pairs, -1).reshape(2, 5, 16)), interleaved=1, **FUSED)
        self.check(m)


class Quantized(OperatorCase):
    """Scales are powers of two: no sum or product rounds before the result does."""

    @staticmethod
    def quantise(x, scale, zero, dtype):
        info = np.iinfo(dtype)
        return np.clip(np.rint(np.asarray(x, np.float64) / scale) + zero, info.min, info.max).astype(dtype)

    def parameters(self, m, scale, zero):
        return [m.constant(f32(scale)), m.constant(np.asarray(zero))]

    def test_element_by_element(self):
        for dtype in (np.uint8, np.int8):
            m = Model(17)
            a, b = integers(dtype, 3, 7), integers(dtype, 3, 1)
            x, y, zero = (a - 5.0) * 0.125, (b - 9.0) * 0.0625, dtype(5)
            left = [m.input("a", a), *self.parameters(m, 0.125, dtype(5))]
            right = [m.input("b", b), *self.parameters(m, 0.0625, dtype(9))]
            out = self.parameters(m, 0.25, zero)
            m.node("QLinearAdd", left + right + out, self.quantise(x + y, 0.25, 5, dtype), **FUSED)
            m.node("QLinearMul", left + right + out, self.quantise(x * y, 0.25, 5, dtype), **FUSED)
            m.node("QLinearLeakyRelu", left + out,
                   self.quantise(np.where(x < 0, x * 0.5, x), 0.25, 5, dtype), alpha=0.5, **FUSED)
            both = [self.quantise(v, 0.25, 5, dtype) for v in (x, np.broadcast_to(y, (3, 1)))]
            m.node("QLinearConcat", out + left + right, np.concatenate(both, 1), axis=1, **FUSED)
            self.check(m, rtol=0, atol=0)

    def test_functions(self):
        m = Model(17)
        a = integers(np.uint8, 3, 11)
        x = (a - 128.0) * 0.03125
        left = [m.input("a", a), *self.parameters(m, 0.03125, np.uint8(128))]
        out = self.parameters(m, 2.0**-8, np.uint8(0))
        m.node("QLinearSigmoid", left + out, self.quantise(1 / (1 + np.exp(-x)), 2.0**-8, 0, np.uint8),
               **FUSED)
        m.node("QLinearSoftmax", left + out, self.quantise(softmax(x), 2.0**-8, 0, np.uint8), axis=-1,
               opset=13, **FUSED)
        self.check(m, rtol=0, atol=0)

    def test_pools(self):
        m = Model(17)
        a = integers(np.uint8, 1, 4, 8, 3)
        x = (a - 100.0) * 0.5
        left = [m.input("a", a), *self.parameters(m, 0.5, np.uint8(100))]
        out = self.parameters(m, 0.25, np.uint8(90))
        windows = x.reshape(1, 2, 2, 4, 2, 3).mean((2, 4))
        m.node("QLinearAveragePool", left + out, self.quantise(windows, 0.25, 90, np.uint8),
               kernel_shape=[2, 2], strides=[2, 2], channels_last=1, **FUSED)
        m.node("QLinearGlobalAveragePool", left + out,
               self.quantise(x.mean((2, 3), keepdims=True), 0.25, 90, np.uint8), channels_last=0,
               **FUSED)
        self.check(m, rtol=0, atol=0)

    def test_products(self):
        m = Model(17)
        a, b, c = integers(np.uint8, 3, 8), integers(np.int8, 8, 5), integers(np.int32, 5, low=-900, high=900)
        sums = (a.astype(int) - 120) @ (b.astype(int) - 3)
        left = [m.input("a", a), *self.parameters(m, 0.125, np.uint8(120))]
        right = [m.constant(b), *self.parameters(m, 0.25, np.int8(3))]
        out = self.parameters(m, 4.0, np.uint8(130))
        m.node("QGemm", left + right + [m.constant(c)] + out,
               self.quantise((sums + c) * 0.03125, 4, 130, np.uint8), **FUSED)
        m.node("QGemm", left + right, f32(sums * 0.03125 * 0.5), alpha=0.5, **FUSED)
        bias = floats(5)
        m.node("MatMulIntegerToFloat", [left[0], right[0], left[1], right[1], left[2], right[2],
                                        m.constant(bias)], f32(sums * f32(0.03125)) + bias, **FUSED)
        x = floats(3, 8)
        low, high = min(x.min(), 0), max(x.max(), 0)
        scale = f32(f32(high - low) / f32(255))
        zero = np.rint(f32(-low) / scale)
        quantised = np.clip(np.rint(x / scale) + zero, 0, 255)
        want = f32((quantised - zero) @ (b.astype(int) - 3)) * (scale * f32(0.25))
        m.node("DynamicQuantizeMatMul", [m.input("x", x), right[0], right[1], right[2]], f32(want), **FUSED)
        self.check(m)


if __name__ == "__main__":
    unittest.main()
