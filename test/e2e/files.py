"""Small files for the end-to-end tests, made without other software."""

import struct


def npy(dtype, shape, data):
    """The bytes of a .npy file, e.g. npy("<f4", (2, 3), struct.pack("<6f", …))."""
    shape_text = "(" + "".join(f"{extent}, " for extent in shape) + ")"
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape_text}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def floats(shape, value=0.5):
    count = 1
    for extent in shape:
        count *= extent
    return npy("<f4", shape, struct.pack(f"<{count}f", *[value] * count))


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A protobuf field: an integer, or bytes, text or an embedded message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_tensor(shape, data, data_type=1, name="x"):
    """A TensorProto with raw data."""
    return (b"".join(field(1, extent) for extent in shape) + field(2, data_type) +
            field(8, name) + field(9, data))


def onnx_value(name, shape, data_type=1):
    dims = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, data_type) + field(2, dims)))


def onnx_model(nodes, inputs, outputs, opset=17):
    """A ModelProto. nodes: (op type, name, inputs, outputs); inputs and outputs:
    (name, shape), where a shape may hold names of symbolic dimensions."""
    graph = b""
    for op_type, name, node_inputs, node_outputs in nodes:
        node = b"".join(field(1, i) for i in node_inputs)
        node += b"".join(field(2, o) for o in node_outputs)
        graph += field(1, node + field(3, name) + field(4, op_type))
    graph += field(2, "graph")
    graph += b"".join(field(11, onnx_value(*value)) for value in inputs)
    graph += b"".join(field(12, onnx_value(*value)) for value in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))
