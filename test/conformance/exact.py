#!/usr/bin/env python3
"""Evaluates an ONNX model with NumPy in double precision, apart from all of the project.

    exact.py CASE [--arch edge] [--bin DIR]

CASE is a folder as cases.py takes it. Prints how far from each other, as relative root
mean square, as largest difference and in elements beyond the case's tolerance, are

- `stored`: the outputs in the folder,
- `exact`:  the model in double precision,
- `single`: the same in single precision,
- `nudged`: in single precision, each input element moved to the next larger number,
- `device`: the outputs of the simulated device (with --arch).

So it tells a fault from a model that amplifies roundings: if `stored` is as far from
`exact` as `device` is, and `nudged` as far from `single`, the difference is the model's.
Knows the operators that the models in question have; names any other and stops.
"""

import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

import cases
import onnx_tensors
from onnx_tensors import fields


class Node:
    def __init__(self, data):
        self.inputs, self.outputs, self.op, self.attributes = [], [], "", {}
        for field, _, value in fields(data):
            if field == 1:
                self.inputs.append(value.decode())
            elif field == 2:
                self.outputs.append(value.decode())
            elif field == 4:
                self.op = value.decode()
            elif field == 5:
                name, attribute = read_attribute(value)
                self.attributes[name] = attribute

    def get(self, name, default=None):
        return self.attributes.get(name, default)


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def read_attribute(data):
    name, kind, one, many = "", 0, None, []
    for field, wire, value in fields(data):
        if field == 1:
            name = value.decode()
        elif field == 20:
            kind = value
        elif field == 2:
            one = struct.unpack("<f", value)[0]
        elif field == 3:
            one = signed(value)
        elif field == 4:
            one = value.decode(errors="replace")
        elif field == 5:
            one = onnx_tensors.parse(value)[1]
        elif field == 7:
            many += list(struct.unpack(f"<{len(value) // 4}f", value))
        elif field == 8:
            many += [signed(v) for v in ([value] if wire == 0 else onnx_tensors.varints(value))]
    return name, many if kind in (6, 7) else one


class Model:
    def __init__(self, path):
        graph = next(value for field, _, value in fields(path.read_bytes()) if field == 7)
        self.nodes, self.weights, self.inputs, self.outputs = [], {}, [], []
        for field, _, value in fields(graph):
            if field == 1:
                self.nodes.append(Node(value))
            elif field == 5:
                name = next(v for f, _, v in fields(value) if f == 8).decode()
                self.weights[name] = onnx_tensors.parse(value)[1]
            elif field in (11, 12):
                name = next(v for f, _, v in fields(value) if f == 1).decode()
                (self.inputs if field == 11 else self.outputs).append(name)
        self.inputs = [name for name in self.inputs if name not in self.weights]


def windows(x, kernel, strides, pads, dilations, fill):
    """[..., out extents, kernel extents] of the padded last dimensions."""
    dims = len(kernel)
    x = np.pad(x, [(0, 0)] * (x.ndim - dims) + [(pads[i], pads[dims + i]) for i in range(dims)],
               constant_values=fill)
    axes = tuple(range(x.ndim - dims, x.ndim))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    picks = [slice(None)] * (x.ndim - dims) + [slice(None, None, s) for s in strides]
    return view[tuple(picks + [slice(None, None, d) for d in dilations])]


def window_attributes(node, kernel, spatial):
    dims = len(kernel)
    strides, dilations = node.get("strides", [1] * dims), node.get("dilations", [1] * dims)
    pads = node.get("pads", [0] * 2 * dims)
    if node.get("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER"):
        total = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
                 for n, s, k, d in zip(spatial, strides, kernel, dilations)]
        low = [(t + (node.get("auto_pad") == "SAME_LOWER")) // 2 for t in total]
        pads = low + [t - p for t, p in zip(total, low)]
    return strides, pads, dilations


def convolution(node, x, w, bias=None):
    groups = node.get("group", 1)
    kernel = w.shape[2:]
    strides, pads, dilations = window_attributes(node, kernel, x.shape[2:])
    view = windows(x, kernel, strides, pads, dilations, 0)
    dims, out = len(kernel), view.shape[2:2 + len(kernel)]
    parts = []
    for g in range(groups):
        per = x.shape[1] // groups
        own = view[:, g * per:(g + 1) * per]  # n, c, out..., kernel...
        own = np.moveaxis(own, 1, 1 + dims).reshape(x.shape[0] * int(np.prod(out)), -1)
        filters = w[g * (len(w) // groups):(g + 1) * (len(w) // groups)]
        parts.append(own @ filters.reshape(len(filters), -1).T)
    result = np.concatenate(parts, 1).reshape(x.shape[0], *out, len(w))
    result = np.moveaxis(result, -1, 1)
    return result if bias is None else result + bias.reshape(-1, *[1] * dims)


def resize(node, x, sizes):
    """Linear or nearest, by the factors of whole sizes."""
    mode, transform = node.get("mode", "nearest"), node.get("coordinate_transformation_mode", "half_pixel")
    for axis, size in enumerate(sizes):
        extent = x.shape[axis]
        if size == extent:
            continue
        at = np.arange(size)
        if transform == "align_corners":
            place = at * (extent - 1) / max(size - 1, 1)
        elif transform == "asymmetric":
            place = at * extent / size
        elif transform in ("half_pixel", "pytorch_half_pixel"):
            place = (at + 0.5) * extent / size - 0.5
            if transform == "pytorch_half_pixel" and size == 1:
                place = np.zeros(1)
        else:
            sys.exit(f"exact.py: Resize with {transform}")
        if mode == "nearest":
            how = node.get("nearest_mode", "round_prefer_floor")
            pick = {"floor": np.floor, "ceil": np.ceil,
                    "round_prefer_floor": lambda p: np.ceil(p - 0.5),
                    "round_prefer_ceil": lambda p: np.floor(p + 0.5)}[how](place)
            x = np.take(x, np.clip(pick.astype(int), 0, extent - 1), axis)
            continue
        place = np.clip(place, 0, extent - 1)
        low = np.minimum(np.floor(place).astype(int), extent - 1)
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        part = (place - low).astype(x.dtype).reshape(shape)
        x = np.take(x, low, axis) * (1 - part) + np.take(x, np.minimum(low + 1, extent - 1), axis) * part
    return x


def erf(x):
    """To double precision: the Taylor series below 3, a continued fraction above."""
    x = x.astype(np.float64)
    small, term, total = np.clip(x, -3, 3), None, 0
    term = small.copy()
    total = term.copy()
    for n in range(1, 70):
        term = term * -small * small / n
        total = total + term / (2 * n + 1)
    large = np.maximum(np.abs(x), 3)
    tail = np.zeros_like(large)
    for n in range(60, 0, -1):
        tail = n / 2 / (large + tail)
    outer = np.sign(x) * (1 - np.exp(-large * large) / (large + tail) / np.sqrt(np.pi))
    return np.where(np.abs(x) < 3, total * 2 / np.sqrt(np.pi), outer)


def quantize(x):
    """DynamicQuantizeLinear."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = (high - low) / x.dtype.type(255)
    zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255))
    return np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8), np.asarray(scale), np.asarray(zero)


def integer_product(a, b, zeros):
    """Of bytes less their zero points; exact in doubles, as all sums are below 2^53."""
    def shifted(x, zero, last):
        if zero is None:
            return x.astype(np.float64)
        zero = zero.astype(np.float64)
        return x - (zero[..., None] if zero.ndim and last == -2 else zero)
    a = shifted(a, zeros[0] if zeros else None, -2)
    b = shifted(b, zeros[1] if len(zeros) > 1 else None, -1)
    return np.rint(a @ b).astype(np.int32)


def slices(x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes
    picks = [slice(None)] * x.ndim
    for i, axis in enumerate(axes):
        step = 1 if steps is None else int(steps[i])
        end = int(ends[i])
        picks[axis] = slice(int(starts[i]), None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(picks)]


def reshape(node, x, shape):
    shape = [int(e) if e or node.get("allowzero", 0) else x.shape[i] for i, e in enumerate(shape)]
    return x.reshape(shape)


def divide(a, b):
    if a.dtype.kind == "f":
        return a / b
    return np.trunc(a.astype(np.float64) / b).astype(a.dtype)


def normalise(node, x, scale, bias):
    axes = tuple(range(2, x.ndim))
    shape = [1, -1] + [1] * len(axes)
    spread = x.var(axes, keepdims=True) + x.dtype.type(node.get("epsilon", 1e-5))
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(spread) * scale.reshape(shape) + bias.reshape(shape)


def softmax(node, x):
    axis = node.get("axis", -1)
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def axes_of(node, rest):
    axes = node.get("axes") if not rest or rest[0] is None else rest[0].ravel()
    return None if axes is None else tuple(int(a) for a in axes)


def unsqueeze(node, x, *rest):
    axes = axes_of(node, rest)
    rank = x.ndim + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = np.expand_dims(x, axis)
    return x


def pad(node, x, pads, value=None, axes=None):
    amounts = [(int(low), int(high)) for low, high in np.reshape(pads, (2, -1)).T]
    if node.get("mode", "constant") == "constant":
        return np.pad(x, amounts, constant_values=0 if value is None else value.item())
    return np.pad(x, amounts, mode={"reflect": "reflect", "edge": "edge"}[node.get("mode")])


def pool(node, x):
    kernel = node.get("kernel_shape")
    strides, pads, dilations = window_attributes(node, kernel, x.shape[2:])
    view = windows(x, kernel, strides, pads, dilations, -np.inf)
    return view.max(tuple(range(view.ndim - len(kernel), view.ndim)))


def sized(node, x, roi=None, scales=None, sizes=None):
    if sizes is None:
        sizes = [int(np.floor(n * np.float64(s))) for n, s in zip(x.shape, scales)]
    return resize(node, x, [int(s) for s in sizes])


def split(node, x, sizes=None):
    axis = node.get("axis", 0)
    sizes = node.get("split") if sizes is None else sizes
    if sizes is None:
        return np.split(x, len(node.outputs), axis)
    return np.split(x, np.cumsum([int(s) for s in sizes])[:-1], axis)


def clip(node, x, low=None, high=None):
    low = node.get("min", low if low is None else low.item())
    high = node.get("max", high if high is None else high.item())
    return np.clip(x, low, high)


def evaluate(model, given, real):
    """The outputs, with `real` in place of float32."""
    def into(x):
        return x.astype(real) if x is not None and x.dtype == np.float32 else x
    values = {name: into(array) for name, array in model.weights.items()}
    values.update({name: into(array) for name, array in given.items()})
    kinds = {1: real, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16}
    operators = {
        "Add": lambda n, a, b: a + b, "Sub": lambda n, a, b: a - b, "Mul": lambda n, a, b: a * b,
        "Div": lambda n, a, b: divide(a, b), "Pow": lambda n, a, b: np.power(a, b.astype(a.dtype)),
        "Equal": lambda n, a, b: a == b, "Neg": lambda n, x: -x, "Sqrt": lambda n, x: np.sqrt(x),
        "Tanh": lambda n, x: np.tanh(x), "Sin": lambda n, x: np.sin(x), "Cos": lambda n, x: np.cos(x),
        "Erf": lambda n, x: erf(x).astype(x.dtype), "Relu": lambda n, x: np.maximum(x, 0),
        "Sigmoid": lambda n, x: 1 / (1 + np.exp(-x)), "Clip": clip, "Softmax": softmax,
        "Cast": lambda n, x: x.astype(kinds[n.get("to")]), "Identity": lambda n, x: x,
        "Constant": lambda n: into(np.asarray(n.get("value"))),
        "Concat": lambda n, *xs: np.concatenate(xs, n.get("axis")), "Split": split,
        "Conv": convolution, "MaxPool": pool, "Pad": pad, "Resize": sized,
        "Gather": lambda n, x, i: np.take(x, i, n.get("axis", 0)),
        "InstanceNormalization": normalise, "MatMul": lambda n, a, b: a @ b,
        "MatMulInteger": lambda n, a, b, *z: integer_product(a, b, z),
        "DynamicQuantizeLinear": lambda n, x: quantize(x),
        "Range": lambda n, a, b, c: np.arange(a, b, c, dtype=a.dtype), "Reshape": reshape,
        "ReduceMean": lambda n, x, *r: x.mean(axes_of(n, r), keepdims=bool(n.get("keepdims", 1))),
        "Shape": lambda n, x: np.array(x.shape[n.get("start", 0):n.get("end")], np.int64),
        "Slice": lambda n, x, *r: slices(x, *r) if r else
            slices(x, n.get("starts"), n.get("ends"), n.get("axes")),
        "Squeeze": lambda n, x, *r: np.squeeze(x, axes_of(n, r)), "Unsqueeze": unsqueeze,
        "Transpose": lambda n, x: x.transpose(n.get("perm", list(range(x.ndim))[::-1])),
        "Expand": lambda n, x, s: np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(int(e) for e in s))),
        "Where": lambda n, c, a, b: np.where(c, a, b),
    }
    for node in model.nodes:
        if node.op not in operators:
            sys.exit(f"exact.py: the operator {node.op} is not known here")
        results = operators[node.op](node, *[values[i] if i else None for i in node.inputs])
        results = results if isinstance(results, (tuple, list)) else [results]
        for name, result in zip(node.outputs, results):
            values[name] = np.asarray(result)
    return [values[name] for name in model.outputs]


def on_device(case, program, arch):
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([program, "run", case.model, "--arch", arch, *case.arguments(), "--outputs", out],
                       check=True, stdout=subprocess.DEVNULL)
        return [np.load(pathlib.Path(out) / f"{i}.npy") for i in range(len(case.outputs))]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=cases.ROOT / "build" / "release" / "bin")
    parser.add_argument("--arch", help="also run it on the simulated device")
    options = parser.parse_args()
    case = cases.Case(options.case)
    model = Model(case.model)
    given = {name: np.load(file) for name, file in case.inputs.items()}
    nudged = {name: np.nextafter(x, np.float32(np.inf)) if x.dtype == np.float32 else x
              for name, x in given.items()}
    runs = {"stored": [np.load(file) for file in case.outputs],
            "exact": evaluate(model, given, np.float64),
            "single": evaluate(model, given, np.float32),
            "nudged": evaluate(model, nudged, np.float32)}
    if options.arch:
        runs["device"] = on_device(case, options.bin / "tessera", options.arch)
    for i in range(len(case.outputs)):
        for first in runs:
            for second in list(runs)[list(runs).index(first) + 1:]:
                rms, most = cases.difference(runs[second][i], runs[first][i])
                good = np.isclose(runs[second][i].astype(np.float64), runs[first][i].astype(np.float64),
                                  case.rtol, case.atol, equal_nan=True)
                print(f"output {i}: {second:7} from {first:7} rms {rms:.2e} max {most:.2e}, "
                      f"{(~good).sum()} of {good.size} beyond the tolerance")


if __name__ == "__main__":
    main()
