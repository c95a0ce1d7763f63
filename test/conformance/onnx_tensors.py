"""Reads the tensors of ONNX test data without the onnx package."""

import numpy as np

# Element types by their number in the file. bfloat16 and the floats of eight
# bits are read as their bits.
TYPES = {1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?",
         10: "<f2", 11: "<f8", 12: "<u4", 13: "<u8", 16: "<u2", 17: "u1", 18: "u1",
         19: "u1", 20: "u1"}


def _varint(data, at):
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return result, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 2:
            size, at = _varint(data, at)
            value = data[at:at + size]
            at += size
        else:
            size = 4 if wire == 5 else 8
            value = data[at:at + size]
            at += size
        yield tag >> 3, wire, value


def varints(data):
    at, values = 0, []
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


def read(path):
    """(element type number, array) of a TensorProto file; the array is None for
    types without numbers."""
    return parse(path.read_bytes())


def parse(data):
    """The same of the bytes of a TensorProto."""
    dims, element, raw = [], 0, None
    floats, doubles, integers = b"", b"", []
    for field, wire, value in fields(data):
        if field == 1:
            dims += [value] if wire == 0 else varints(value)
        elif field == 2:
            element = value
        elif field == 4:
            floats += value
        elif field == 10:
            doubles += value
        elif field in (5, 7, 11):
            integers += [value] if wire == 0 else varints(value)
        elif field == 9:
            raw = value
    if element not in TYPES:
        return element, None
    kind = np.dtype(TYPES[element])
    if raw is not None:
        return element, np.frombuffer(raw, kind).reshape(dims)
    if floats:
        return element, np.frombuffer(floats, "<f4").reshape(dims)
    if doubles:
        return element, np.frombuffer(doubles, "<f8").reshape(dims)
    signed = [v - (1 << 64) if v >= 1 << 63 else v for v in integers]
    if element == 10:
        return element, np.array(signed, "<u2").view("<f2").reshape(dims)
    return element, np.array(signed).astype(kind).reshape(dims)
