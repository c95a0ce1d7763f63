"""Writes small ONNX models without the onnx package, for tests."""

import struct

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
         "string": 8, "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19,
         "float8e5m2fnuz": 20}


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    if isinstance(data, str):
        data = data.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, array, dtype=None):
    """`dtype` names an element type that NumPy lacks, of which the array holds the bits."""
    array = np.asarray(array)
    dims = b"".join(number(1, extent) for extent in array.shape)
    return (dims + number(2, TYPES[dtype or array.dtype.name]) + block(8, name) +
            block(9, np.ascontiguousarray(array).tobytes()))


def attribute(name, value):
    head = block(1, name)
    if isinstance(value, float):
        return head + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, (bool, int)):
        return head + number(3, int(value)) + number(20, 2)
    if isinstance(value, str):
        return head + block(4, value) + number(20, 3)
    if isinstance(value, np.ndarray):
        return head + block(5, tensor("", value)) + number(20, 4)
    if value and isinstance(value[0], float):
        return head + b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value) + number(20, 6)
    return head + b"".join(number(8, v) for v in value) + number(20, 7)


def value_info(name, dtype, shape):
    """The declaration of a tensor; an extent may be the name of a symbolic one."""
    dims = b"".join(block(1, block(2, extent) if isinstance(extent, str) else number(1, extent))
                    for extent in shape)
    return block(1, name) + block(2, block(1, number(1, TYPES[dtype]) + block(2, dims)))


class Model:
    """A graph that grows node by node; every node's results are outputs."""

    def __init__(self, opset):
        self.opset, self.nodes, self.weights = opset, [], []
        self.inputs, self.outputs, self.expected = [], [], []
        self.domains = {""}

    def input(self, name, array):
        self.inputs.append((name, array))
        return name

    def constant(self, array):
        name = f"c{len(self.weights)}"
        self.weights.append(block(5, tensor(name, array)))
        return name

    def node(self, op, inputs, expected, **attributes):
        """Adds a node; `expected` is the array that result 0 should equal.

        A list has one for each result; None leaves one out. `domain` names that of
        an operator that is not a standard one."""
        domain = attributes.pop("domain", "")
        self.domains |= {domain}
        name = f"{op}_{len(self.nodes)}"
        results = [name] if not isinstance(expected, (list, tuple)) else \
            ["" if e is None else f"{name}_{i}" for i, e in enumerate(expected)]
        body = b"".join(block(1, i) for i in inputs) + b"".join(block(2, r) for r in results)
        body += block(3, name) + block(4, op)
        body += b"".join(block(5, attribute(k, v)) for k, v in attributes.items())
        body += block(7, domain) if domain else b""
        self.nodes.append(block(1, body))
        for result, array in zip(results, expected if len(results) > 1 or
                                 isinstance(expected, (list, tuple)) else [expected]):
            if not result:
                continue
            self.outputs.append(result)
            self.expected.append(np.asarray(array))
        return results[0]

    def bytes(self):
        graph = b"".join(self.nodes) + block(2, "test") + b"".join(self.weights)
        for name, array in self.inputs:
            graph += block(11, value_info(name, array.dtype.name, array.shape))
        for name, array in zip(self.outputs, self.expected):
            graph += block(12, value_info(name, array.dtype.name, array.shape))
        versions = b"".join(block(8, block(1, d) + number(2, 1 if d else self.opset))
                            for d in sorted(self.domains))
        return number(1, 8) + block(7, graph) + versions


class Graph:
    """A graph with inputs, weights, nodes of one result, and outputs of one's choice."""

    def __init__(self, opset, name):
        self.opset, self.name = opset, name
        self.inputs, self.outputs, self.nodes, self.weights = [], [], [], {}
        self.domains = {""}

    def input(self, name, dtype, shape):
        self.inputs.append(block(11, value_info(name, dtype, shape)))
        return name

    def weight(self, name, array, dtype=None):
        """An initializer; a name that exists already stands for the same one."""
        self.weights.setdefault(name, block(5, tensor(name, array, dtype)))
        return name

    def node(self, op, inputs, result=None, **attributes):
        """`domain` names that of an operator that is not a standard one."""
        domain = attributes.pop("domain", "")
        self.domains |= {domain}
        name = f"{op}_{len(self.nodes)}"
        result = result or name
        body = b"".join(block(1, i) for i in inputs) + block(2, result) + block(3, name)
        body += block(4, op) + b"".join(block(5, attribute(k, v)) for k, v in attributes.items())
        body += block(7, domain) if domain else b""
        self.nodes.append(block(1, body))
        return result

    def output(self, name, value, dtype, shape):
        self.node("Identity", [value], name)
        self.outputs.append(block(12, value_info(name, dtype, shape)))

    def bytes(self):
        graph = (b"".join(self.nodes) + block(2, self.name) + b"".join(self.weights.values()) +
                 b"".join(self.inputs) + b"".join(self.outputs))
        versions = b"".join(block(8, block(1, d) + number(2, 1 if d else self.opset))
                            for d in sorted(self.domains))
        return number(1, 8) + block(7, graph) + versions
