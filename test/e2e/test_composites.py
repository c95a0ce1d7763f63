#!/usr/bin/env python3
"""What exporters spell out in primitive nodes becomes what the one operator becomes."""

import pathlib
import re
import tempfile
import unittest

import numpy as np

from common import tessera
from onnx_writer import Graph

RNG = np.random.default_rng(3)
ROWS, WIDTH, HEADS, LENGTH, SIZE = 12, 32, 2, 8, 16


class Composite:
    """A graph with shorthands for the forms below."""

    def __init__(self, opset, **inputs):
        self.graph = Graph(opset, "composite")
        for name, shape in inputs.items():
            self.graph.input(name, "float32", shape)

    def node(self, op, *inputs, **attributes):
        return self.graph.node(op, list(inputs), None, **attributes)

    def weight(self, *shape):
        return self.constant(RNG.uniform(-1, 1, shape), np.float32)

    def constant(self, value, dtype=np.float32):
        return self.graph.weight(f"c{len(self.graph.weights)}", np.array(value, dtype))

    def integers(self, *values):
        return self.constant(values, np.int64)

    def close(self, value, shape):
        self.graph.output("y", value, "float32", shape)
        return self.graph.bytes()


def layer_norm(spelling):
    c = Composite(17, x=[ROWS, WIDTH])
    scale, bias = c.weight(WIDTH), c.weight(WIDTH)
    if spelling == "operator":
        y = c.node("LayerNormalization", "x", scale, bias, axis=-1, epsilon=1e-5)
    elif spelling == "onnxruntime":
        y = c.node("SkipLayerNormalization", "x", "x", scale, bias, epsilon=1e-5, domain="com.microsoft")
    elif spelling == "tensorflow":  # tf.nn.moments and tf.nn.batch_normalization.
        mean = c.node("ReduceMean", "x", axes=[-1])
        center = c.node("Sub", "x", mean)
        variance = c.node("ReduceMean", c.node("Mul", center, center), axes=[-1])
        root = c.node("Sqrt", c.node("Add", variance, c.constant(1e-5)))
        factor = c.node("Mul", c.node("Reciprocal", root), scale)
        y = c.node("Add", c.node("Mul", "x", factor),
                   c.node("Sub", bias, c.node("Mul", mean, factor)))
    else:
        center = c.node("Sub", "x", c.node("ReduceMean", "x", axes=[-1]))
        square = c.node("Pow", center, c.constant(2.0)) if spelling == "pow" else \
            c.node("Mul", center, center)
        variance = c.node("Add", c.node("ReduceMean", square, axes=[-1]), c.constant(1e-5))
        y = c.node("Div", center, c.node("Sqrt", variance))
        y = c.node("Add", c.node("Mul", y, scale), bias)
    return c.close(y, [ROWS, WIDTH])


def rms_norm(spelling):
    c = Composite(23 if spelling == "operator" else 17, x=[ROWS, WIDTH])
    scale = c.weight(WIDTH)
    if spelling == "operator":
        y = c.node("RMSNormalization", "x", scale, axis=-1, epsilon=1e-5)
    elif spelling == "onnxruntime":
        y = c.node("SimplifiedLayerNormalization", "x", scale, axis=-1, epsilon=1e-5)
    elif spelling == "onnxruntime skip":
        y = c.node("SkipSimplifiedLayerNormalization", "x", "x", scale, epsilon=1e-5,
                   domain="com.microsoft")
    else:
        square = c.node("Mul", "x", "x") if spelling == "product" else \
            c.node("Pow", "x", c.constant(2.0))
        mean = c.node("ReduceMean", square, axes=[-1])
        root = c.node("Sqrt", c.node("Add", mean, c.constant(1e-5)))
        inverse = c.node("Div", c.constant(1.0), root) if spelling == "div" else \
            c.node("Reciprocal", root)
        y = c.node("Mul", scale, c.node("Mul", "x", inverse))
    return c.close(y, [ROWS, WIDTH])


def gelu(spelling):
    """Behind a product, as in a transformer's network."""
    c = Composite(20 if spelling.startswith("operator") else 17, x=[ROWS, WIDTH])
    x = c.node("MatMul", "x", c.weight(WIDTH, 2 * WIDTH))
    if spelling == "operator":
        y = c.node("Gelu", x)
    elif spelling == "operator tanh":
        y = c.node("Gelu", x, approximate="tanh")
    elif spelling.startswith("onnxruntime"):
        kind = spelling.split()[1]
        bias = [c.weight(2 * WIDTH)] if kind == "BiasGelu" else []
        y = c.node(kind, x, *bias, domain="com.microsoft")
    elif spelling == "tensorflow":
        erf = c.node("Erf", c.node("Mul", x, c.constant(np.sqrt(0.5))))
        y = c.node("Mul", c.node("Mul", c.constant(0.5), x), c.node("Add", c.constant(1.0), erf))
    elif spelling == "tensorflow tanh":
        cube = c.node("Mul", c.constant(0.044715), c.node("Mul", x, c.node("Mul", x, x)))
        inner = c.node("Mul", c.constant(np.sqrt(2 / np.pi)), c.node("Add", x, cube))
        half = c.node("Mul", c.constant(0.5), c.node("Add", c.constant(1.0), c.node("Tanh", inner)))
        y = c.node("Mul", x, half)
    elif spelling == "erf":  # As PyTorch's exporter.
        erf = c.node("Erf", c.node("Div", x, c.constant(np.sqrt(2))))
        y = c.node("Mul", c.node("Mul", x, c.node("Add", erf, c.constant(1.0))), c.constant(0.5))
    else:  # As that of GPT-2.
        cube = c.node("Mul", c.node("Pow", x, c.constant(3.0)), c.constant(0.044715))
        inner = c.node("Mul", c.node("Add", x, cube), c.constant(np.sqrt(2 / np.pi)))
        one = c.node("Add", c.node("Tanh", inner), c.constant(1.0))
        y = c.node("Mul", c.node("Mul", x, c.constant(0.5)), one)
    return c.close(y, [ROWS, 2 * WIDTH])


def silu(spelling):
    """Behind a product. There was no such operator until version 24 (Swish)."""
    c = Composite(24 if spelling == "operator" else 17, x=[ROWS, WIDTH])
    x = c.node("MatMul", "x", c.weight(WIDTH, 2 * WIDTH))
    if spelling == "operator":
        y = c.node("Swish", x)
    elif spelling == "onnxruntime":
        y = c.node("QuickGelu", x, alpha=1.0, domain="com.microsoft")
    elif spelling == "hard":  # As MobileNetV3's.
        y = c.node("Mul", x, c.node("HardSigmoid", x, alpha=1 / 6))
    elif spelling == "clip":
        clip = c.node("Clip", c.node("Add", x, c.constant(3.0)), c.constant(0.0), c.constant(6.0))
        y = c.node("Div", c.node("Mul", x, clip), c.constant(6.0))
    else:
        y = c.node("Mul", x, c.node("Sigmoid", x))
    return c.close(y, [ROWS, 2 * WIDTH])


def rotary(spelling):
    c = Composite(23 if spelling == "operator" else 17, x=[1, HEADS, LENGTH, SIZE])
    half = c.weight(LENGTH, SIZE // 2)
    sin = c.weight(LENGTH, SIZE // 2)
    if spelling == "operator":
        ids = c.constant(np.arange(LENGTH)[None], np.int64)
        y = c.node("RotaryEmbedding", "x", half, sin, ids)
    else:
        def table(name):
            return c.node("Concat", name, name, axis=-1)

        def part(low, high):
            return c.node("Slice", "x", *(c.integers(n) for n in (low, high, -1, 1)))
        turned = c.node("Concat", c.node("Neg", part(SIZE // 2, SIZE)), part(0, SIZE // 2), axis=-1)
        y = c.node("Add", c.node("Mul", "x", table(half)), c.node("Mul", turned, table(sin)))
    return c.close(y, [1, HEADS, LENGTH, SIZE])


def attention(spelling):
    shape = [1, HEADS, LENGTH, SIZE]
    c = Composite(23 if spelling == "operator" else 17, q=shape, k=shape, v=shape)
    mask = c.constant(np.triu(np.full((LENGTH, LENGTH), -1e9), 1))
    if spelling == "operator":
        y = c.node("Attention", "q", "k", "v", mask)
    elif spelling == "scaled scores":
        s = c.node("MatMul", "q", c.node("Transpose", "k", perm=[0, 1, 3, 2]))
        s = c.node("Add", c.node("Div", s, c.constant(SIZE ** 0.5)), mask)
        y = c.node("MatMul", c.node("Softmax", s, axis=-1), "v")
    else:  # As torch.nn.functional.scaled_dot_product_attention.
        root = c.constant(SIZE ** -0.25)
        q = c.node("Mul", "q", root)
        k = c.node("Mul", c.node("Transpose", "k", perm=[0, 1, 3, 2]), root)
        s = c.node("Add", c.node("MatMul", q, k), mask)
        y = c.node("MatMul", c.node("Softmax", s, axis=-1), "v")
    return c.close(y, shape)


def grouped_attention(spelling):
    """Two query heads to a key head, in batches, as repeat_kv of Llama's code repeats them."""
    batch, heads, queries = 2, 3, 5
    c = Composite(23 if spelling == "operator" else 17, q=[batch, 2 * heads, queries, SIZE],
                  k=[batch, heads, LENGTH, SIZE], v=[batch, heads, LENGTH, SIZE])

    def repeated(x):
        x = c.node("Expand", c.node("Unsqueeze", x, c.integers(2)),
                   c.integers(batch, heads, 2, LENGTH, SIZE))
        return c.node("Reshape", x, c.integers(batch, 2 * heads, LENGTH, SIZE))
    mask = c.constant(np.triu(np.full((queries, LENGTH), -1e9), 1 + LENGTH - queries))
    if spelling == "operator":
        y = c.node("Attention", "q", "k", "v", mask)
    else:
        s = c.node("MatMul", "q", c.node("Transpose", repeated("k"), perm=[0, 1, 3, 2]))
        s = c.node("Add", c.node("Mul", s, c.constant(SIZE ** -0.5)), mask)
        y = c.node("MatMul", c.node("Softmax", s, axis=-1), repeated("v"))
    return c.close(y, [batch, 2 * heads, queries, SIZE])


class Composites(unittest.TestCase):
    def dispatches(self, form, spelling):
        """The names of the nodes of each dispatch, after a run that agrees with the host."""
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "m.onnx"
            model.write_bytes(form(spelling))
            result = tessera("compile", model, "--emit=graph", "-o", model.with_suffix(".mlir"))
            self.assertEqual(result.returncode, 0, result.stderr)
            result = tessera("run", model, "--arch", "tiny", "--verify")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            text = model.with_suffix(".mlir").read_text()
            return len(re.findall(r"= graph\.dispatch|^ *graph\.dispatch", text, re.M))

    def check(self, form, count, operator, *spellings):
        self.assertEqual(self.dispatches(form, operator), count, operator)
        for spelling in spellings:
            with self.subTest(spelling):
                self.assertEqual(self.dispatches(form, spelling), count)

    def test_layer_norm_is_one_dispatch(self):
        self.check(layer_norm, 1, "operator", "pow", "mul", "tensorflow", "onnxruntime")

    def test_rms_norm_is_one_dispatch(self):
        self.check(rms_norm, 1, "operator", "div", "reciprocal", "product", "onnxruntime",
                   "onnxruntime skip")

    def test_gelu_ends_its_product(self):
        self.check(gelu, 1, "operator", "erf", "tensorflow", "onnxruntime Gelu", "onnxruntime BiasGelu")
        self.check(gelu, 1, "operator tanh", "tanh", "tensorflow tanh", "onnxruntime FastGelu")

    def test_silu_ends_its_product(self):
        self.check(silu, 1, "operator", "sigmoid", "onnxruntime", "hard", "clip")

    def check_at_most(self, form, **counts):
        for spelling, count in counts.items():
            with self.subTest(spelling):
                self.assertLessEqual(self.dispatches(form, spelling.replace("_", " ")), count)

    def test_rotary_embedding(self):
        """The products and the sum are one dispatch behind the exchange of the halves."""
        self.check_at_most(rotary, operator=8, half_turned=6)

    def test_attention(self):
        """Two products and the softmax between them; a transposition, scaling of the scores
        and the mask go into the first. Where inputs of the model are scaled, both, these are
        dispatches of their own."""
        self.check_at_most(attention, scaled_scores=1, both_scaled=3, operator=1)

    def test_grouped_queries(self):
        """Heads of keys and values are not repeated in memory."""
        self.check(grouped_attention, 1, "operator", "repeated")


if __name__ == "__main__":
    unittest.main()
