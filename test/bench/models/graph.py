"""Builds ONNX models of real topologies with seeded weights.

Every method adds nodes and gives the name of the result; shapes are tracked, so
that weights and windows need not be stated twice. Weights repeat one seeded block
of normal numbers, scaled by 1/sqrt(fan in), so that values stay near 1 through any
number of layers and a model of any size is written in a moment.
"""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import onnx_writer as onnx  # noqa: E402

FLOAT_TYPES = {"f32": 1, "f16": 10, "bf16": 16}
INT64 = 7
BLOCK = 1 << 16


def encode(values, element):
    """The bytes of f32 `values` in a float format, rounded to nearest even."""
    values = np.ascontiguousarray(values, dtype=np.float32)
    if element == "f32":
        return values.tobytes()
    if element == "f16":
        return values.astype(np.float16).tobytes()
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).tobytes()


class Graph:
    """A model that grows node by node. `element` is the type of every float."""

    def __init__(self, element="bf16", opset=22):
        self.element, self.opset = element, opset
        self.block = np.random.default_rng(7).standard_normal(BLOCK).astype(np.float32)
        self.nodes, self.weights, self.inputs, self.results = [], [], [], []
        self.shapes, self.scope, self.count = {}, [], 0

    # Tensors.

    def value_info(self, name):
        dims = b"".join(onnx.block(1, onnx.number(1, extent)) for extent in self.shapes[name])
        kind = onnx.number(1, FLOAT_TYPES[self.element]) + onnx.block(2, dims)
        return onnx.block(1, name) + onnx.block(2, onnx.block(1, kind))

    def initializer(self, shape, kind, data):
        name = "/".join(self.scope + [f"weight_{len(self.weights)}"])
        dims = b"".join(onnx.number(1, extent) for extent in shape)
        self.weights.append(onnx.block(
            5, dims + onnx.number(2, kind) + onnx.block(8, name) + onnx.block(9, data)))
        self.shapes[name] = tuple(shape)
        return name

    def values(self, array):
        """A constant with the values of an array."""
        return self.initializer(np.shape(array), FLOAT_TYPES[self.element],
                                encode(array, self.element))

    def weight(self, *shape, fan_in):
        """Seeded normal numbers of standard deviation 1/sqrt(fan_in)."""
        size = int(np.prod(shape))
        start = 977 * len(self.weights) % BLOCK
        scaled = encode(np.roll(self.block, -start) / np.sqrt(fan_in), self.element)
        width = len(scaled) // BLOCK
        data = (scaled * (size // BLOCK + 1))[:size * width]
        return self.initializer(shape, FLOAT_TYPES[self.element], data)

    def integers(self, *values):
        return self.initializer((len(values),), INT64, np.array(values, np.int64).tobytes())

    def input(self, name, *shape):
        self.shapes[name] = tuple(shape)
        self.inputs.append(self.value_info(name))
        return name

    def output(self, name):
        self.results.append(self.value_info(name))

    def shape(self, name):
        return self.shapes[name]

    # Nodes.

    def node(self, op, inputs, shape, **attributes):
        name = "/".join(self.scope + [f"{op}_{self.count}"])
        self.count += 1
        body = b"".join(onnx.block(1, i) for i in inputs) + onnx.block(2, name)
        body += onnx.block(3, name) + onnx.block(4, op)
        body += b"".join(onnx.block(5, onnx.attribute(k, v)) for k, v in attributes.items())
        self.nodes.append(onnx.block(1, body))
        self.shapes[name] = tuple(shape)
        return name

    def within(self, *scope):
        """A context whose nodes and weights carry these scopes in their names."""
        return _Scope(self, scope)

    def unary(self, op, x, **attributes):
        return self.node(op, [x], self.shape(x), **attributes)

    def binary(self, op, a, b):
        return self.node(op, [a, b], np.broadcast_shapes(self.shape(a), self.shape(b)))

    def reshape(self, x, *shape):
        return self.node("Reshape", [x, self.integers(*shape)], shape)

    def transpose(self, x, *perm):
        return self.node("Transpose", [x], [self.shape(x)[d] for d in perm], perm=list(perm))

    def concat(self, parts, axis):
        shape = list(self.shape(parts[0]))
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        return self.node("Concat", parts, shape, axis=axis)

    def slice(self, x, axis, begin, end):
        shape = list(self.shape(x))
        shape[axis] = end - begin
        return self.node("Slice", [x, self.integers(begin), self.integers(end),
                                   self.integers(axis)], shape)

    def matmul(self, a, b):
        batch = np.broadcast_shapes(self.shape(a)[:-2], self.shape(b)[:-2])
        return self.node("MatMul", [a, b], batch + (self.shape(a)[-2], self.shape(b)[-1]))

    def linear(self, x, features, bias=True):
        fan_in = self.shape(x)[-1]
        product = self.matmul(x, self.weight(fan_in, features, fan_in=fan_in))
        return self.binary("Add", product, self.weight(features, fan_in=16)) if bias else product

    def conv(self, x, features, kernel, stride=1, pad=None, groups=1):
        batch, channels, height, width = self.shape(x)
        pad = kernel // 2 if pad is None else pad
        fan_in = channels // groups * kernel * kernel
        weights = [self.weight(features, channels // groups, kernel, kernel, fan_in=fan_in),
                   self.weight(features, fan_in=16)]
        spatial = [(extent + 2 * pad - kernel) // stride + 1 for extent in (height, width)]
        return self.node("Conv", [x] + weights, (batch, features, *spatial),
                         kernel_shape=[kernel, kernel], strides=[stride, stride],
                         pads=[pad] * 4, group=groups)

    def softmax(self, x):
        return self.unary("Softmax", x, axis=-1)

    def bytes(self, name):
        graph = b"".join(self.nodes) + onnx.block(2, name) + b"".join(self.weights)
        graph += b"".join(onnx.block(11, info) for info in self.inputs)
        graph += b"".join(onnx.block(12, info) for info in self.results)
        return (onnx.number(1, 10) + onnx.block(7, graph) +
                onnx.block(8, onnx.block(1, "") + onnx.number(2, self.opset)))


class _Scope:
    def __init__(self, graph, scope):
        self.graph, self.scope = graph, [str(part) for part in scope]

    def __enter__(self):
        self.graph.scope += self.scope

    def __exit__(self, *_):
        del self.graph.scope[-len(self.scope):]
