#!/usr/bin/env python3
"""Random ONNX graphs on the simulated device, against the host reference and NumPy.

    random_graphs.py [--graphs N] [--first I] [--seed S] [--arch NAME]

Graph i of seed S is always the same: a failure names it, and --only I runs it alone. A
graph that takes more than --seconds of processor time is a failure too: all are small,
and need a part of a second.
"""

import argparse
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))

from common import BIN  # noqa: E402
from onnx_writer import Model  # noqa: E402

EXTENTS = [1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 17]
MAX_ELEMENTS = 1 << 13


class Graph:
    """A model that grows by random nodes over the values that it has."""

    def __init__(self, rng):
        self.rng = rng
        self.model = Model(18)
        self.values = []  # (name, array) of f32.
        for i in range(rng.integers(1, 4)):
            shape = [int(rng.choice(EXTENTS)) for _ in range(rng.integers(1, 5))]
            if np.prod(shape) <= MAX_ELEMENTS:
                self.add_input(f"x{i}", shape)
        if not self.values:
            self.add_input("x", [3, 7])
        size = int(rng.choice([rng.integers(3, 9)] * 4 + [rng.integers(30, 60)]))
        for _ in range(8 * size):  # Not every attempt adds a node.
            if len(self.model.nodes) < size:
                self.grow()
        # Few results are seen, so that operations can be fused.
        seen = rng.random(len(self.model.outputs)) < rng.choice([0.1, 0.5])
        seen[-1] = True
        for values in (self.model.outputs, self.model.expected):
            values[:] = [value for value, kept in zip(values, seen) if kept]

    def add_input(self, name, shape):
        array = self.rng.uniform(-2, 2, shape).astype(np.float32)
        self.values.append((self.model.input(name, array), array))

    def pick(self):
        return self.values[self.rng.integers(len(self.values))]

    def node(self, op, inputs, want, **attributes):
        want = np.asarray(want)
        if want.size == 0 or want.size > MAX_ELEMENTS:
            return
        name = self.model.node(op, inputs, want, **attributes)
        if want.dtype == np.float32 and want.ndim:
            self.values.append((name, want))

    def integers(self, *values):
        return self.model.constant(np.array(values, np.int64))

    def grow(self):
        kinds = [self.unary, self.binary, self.move, self.reduce, self.product, self.choose,
                 self.gather, self.pad, self.slice, self.rank, self.gram, self.repeat, self.attend]
        kinds[self.rng.integers(len(kinds))]()

    def unary(self):
        name, x = self.pick()
        op, want = [("Relu", np.maximum(x, 0)), ("Abs", np.abs(x)), ("Neg", -x),
                    ("Tanh", np.tanh(x)), ("Exp", np.exp(np.minimum(x, 0))),
                    ("Sigmoid", 1 / (1 + np.exp(-x.astype(np.float64)))),
                    ("Sqrt", np.sqrt(np.abs(x)))][self.rng.integers(7)]
        if op == "Exp":  # Of what is at most 0.
            zero = self.model.constant(np.zeros((), np.float32))
            name = self.model.node("Min", [name, zero], np.minimum(x, np.float32(0)))
        if op == "Sqrt":
            name = self.model.node("Abs", [name], np.abs(x))
        self.node(op, [name], want.astype(np.float32))

    def binary(self):
        (a, x), (b, y) = self.pick(), self.pick()
        if self.rng.random() < 0.5:  # Something that broadcasts.
            y = y.ravel()[:1].reshape([1] * x.ndim)
            b = self.model.constant(y)
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return
        if np.prod(shape) > MAX_ELEMENTS:
            return
        op, function = [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply),
                        ("Max", np.maximum), ("Min", np.minimum)][self.rng.integers(5)]
        want = function(x, y).astype(np.float32)
        if np.abs(want).max() < 1e4:
            self.node(op, [a, b], want)

    def move(self):
        name, x = self.pick()
        kind = self.rng.integers(4)
        if kind == 0:
            order = [int(i) for i in self.rng.permutation(x.ndim)]
            self.node("Transpose", [name], x.transpose(order), perm=order)
        elif kind == 1:
            shape = [int(x.size)] if self.rng.random() < 0.3 else \
                [int(e) for e in np.sort(self.rng.permutation(x.shape))]
            self.node("Reshape", [name, self.integers(*shape)], x.reshape(shape))
        elif kind == 2:
            axis = int(self.rng.integers(x.ndim))
            self.node("Concat", [name, name], np.concatenate([x, x], axis), axis=axis)
        else:
            times = [int(self.rng.integers(1, 3)) for _ in x.shape]
            self.node("Tile", [name, self.integers(*times)], np.tile(x, times))

    def reduce(self):
        name, x = self.pick()
        axis = int(self.rng.integers(x.ndim))
        op = str(self.rng.choice(["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "Softmax"]))
        wide = x.astype(np.float64)
        if op == "Softmax":
            e = np.exp(wide - wide.max(axis, keepdims=True))
            self.node(op, [name], (e / e.sum(axis, keepdims=True)).astype(np.float32), axis=axis)
            return
        function = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min,
                    "ReduceMean": np.mean}[op]
        keep = int(self.rng.random() < 0.7)
        want = function(wide, axis=axis, keepdims=bool(keep)).astype(np.float32)
        if op == "ReduceSum":
            self.node(op, [name, self.integers(axis)], want, keepdims=keep)
        else:
            self.node(op, [name, self.integers(axis)], want, keepdims=keep)

    def product(self):
        name, x = self.pick()
        if x.ndim < 2:
            return
        columns = int(self.rng.choice(EXTENTS))
        w = self.rng.uniform(-1, 1, (x.shape[-1], columns)).astype(np.float32)
        want = (x.astype(np.float64) @ w.astype(np.float64)).astype(np.float32)
        if np.abs(want).max() < 1e4:
            self.node("MatMul", [name, self.model.constant(w)], want)

    def gram(self):
        """A product of two computed tensors, over batches."""
        name, x = self.pick()
        if x.ndim < 2:
            return
        order = [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]
        turned = x.swapaxes(-1, -2)
        want = (x.astype(np.float64) @ turned.astype(np.float64)).astype(np.float32)
        if np.abs(want).max() < 1e4 and want.size <= MAX_ELEMENTS:
            other = self.model.node("Transpose", [name], turned, perm=order)
            self.node("MatMul", [name, other], want)

    def repeat(self):
        """Each entry along a dimension several times in a row."""
        name, x = self.pick()
        axis, times = int(self.rng.integers(x.ndim)), int(self.rng.integers(2, 4))
        if x.size * times > MAX_ELEMENTS:
            return
        wide = [*x.shape[:axis + 1], times, *x.shape[axis + 1:]]
        split = np.expand_dims(x, axis + 1)
        a = self.model.node("Unsqueeze", [name, self.integers(axis + 1)], split)
        b = self.model.node("Expand", [a, self.integers(*wide)], np.broadcast_to(split, wide).copy())
        want = np.repeat(x, times, axis)
        self.node("Reshape", [b, self.integers(*want.shape)], want)

    def attend(self):
        """Grouped queries over keys and values that are the model's inputs."""
        name, x = self.pick()
        if x.ndim < 3 or np.abs(x).max() > 8:
            return
        heads, queries, size = x.shape[-3:]
        times = int(self.rng.choice([t for t in (1, 2, 3, 4) if heads % t == 0]))
        keys = int(self.rng.choice(EXTENTS))
        shape = [*x.shape[:-3], heads // times, keys, size]
        operands = []
        for kind in "kv":
            array = self.rng.uniform(-1, 1, shape).astype(np.float32)
            full = self.model.input(f"{kind}{len(self.model.nodes)}", array)
            if times > 1:
                axis = len(shape) - 2
                full = self.model.node("Unsqueeze", [full, self.integers(axis)], np.expand_dims(array, axis))
                array = np.repeat(array, times, -3)
                wide = [*shape[:axis], times, *shape[axis:]]
                full = self.model.node("Expand", [full, self.integers(*wide)], array.reshape(wide))
                full = self.model.node("Reshape", [full, self.integers(*array.shape)], array)
            operands.append((full, array.astype(np.float64)))
        (k, key), (v, value) = operands
        order = [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]
        turned = self.model.node("Transpose", [k], key.swapaxes(-1, -2).astype(np.float32), perm=order)
        scores = x.astype(np.float64) @ key.swapaxes(-1, -2)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        weights = e / e.sum(-1, keepdims=True)
        s = self.model.node("MatMul", [name, turned], scores.astype(np.float32))
        s = self.model.node("Softmax", [s], weights.astype(np.float32), axis=-1)
        self.node("MatMul", [s, v], (weights @ value).astype(np.float32))

    def choose(self):
        name, x = self.pick()
        zero = self.model.constant(np.zeros((), np.float32))
        condition = self.model.node("Greater", [name, zero], x > 0)
        self.node("Where", [condition, name, zero], np.where(x > 0, x, np.float32(0)))

    def gather(self):
        name, x = self.pick()
        axis = int(self.rng.integers(x.ndim))
        index = self.rng.integers(-x.shape[axis], x.shape[axis], self.rng.integers(1, 5))
        at = self.model.input(f"at{len(self.model.nodes)}", index)
        self.node("Gather", [name, at], np.take(x, index, axis), axis=axis)

    def pad(self):
        name, x = self.pick()
        amounts = self.rng.integers(0, 3, (2, x.ndim))
        self.node("Pad", [name, self.integers(*amounts.ravel())],
                  np.pad(x, [tuple(map(int, p)) for p in amounts.T]), mode="constant")

    def slice(self):
        name, x = self.pick()
        axis = int(self.rng.integers(x.ndim))
        step = int(self.rng.choice([-2, -1, 1, 2]))
        start, end = (x.shape[axis] - 1, -(1 << 40)) if step < 0 else (0, 1 << 40)
        picks = [slice(None)] * x.ndim
        picks[axis] = slice(start, None, step)
        self.node("Slice", [name, self.integers(start), self.integers(end), self.integers(axis),
                            self.integers(step)], x[tuple(picks)])

    def rank(self):
        name, x = self.pick()
        axis = int(self.rng.integers(x.ndim))
        self.node("ArgMax", [name], x.argmax(axis), axis=axis, keepdims=0)


def run(graph, arch, folder, seconds):
    """What is wrong with the outputs, or None."""
    model = graph.model
    (folder / "in").mkdir()
    (folder / "model.onnx").write_bytes(model.bytes())
    for i, (_, array) in enumerate(model.inputs):
        np.save(folder / "in" / f"{i}.npy", array)
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    result = subprocess.run(
        [BIN / "tessera", "run", folder / "model.onnx", "--arch", arch, "--inputs", folder / "in",
         "--outputs", folder / "out", "--verify"],
        capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, preexec_fn=limit)
    if result.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"no end within {seconds} s of processor time"
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines()
        return f"exit status {result.returncode}: {lines[0] if lines else ''}"
    for i, (name, want) in enumerate(zip(model.outputs, model.expected)):
        got = np.load(folder / "out" / f"{i}.npy")
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"{name}: {got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
        if want.dtype.kind == "f":
            scale = max(1.0, float(np.abs(want).max()))
            wrong = ~np.isclose(got, want, rtol=1e-4, atol=1e-5 * scale)
            if wrong.any():
                return f"{name}: {wrong.sum()} of {want.size} elements differ"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first graph's number")
    parser.add_argument("--arch", default="tiny")
    parser.add_argument("--seconds", type=int, default=60,
                        help="of processor time for one graph")
    parser.add_argument("--only", type=int, help="only this graph of the seed")
    options = parser.parse_args()
    failures = 0
    numbers = range(options.first, options.first + options.graphs)
    for i in numbers if options.only is None else [options.only]:
        graph = Graph(np.random.default_rng([options.seed, i]))
        with tempfile.TemporaryDirectory() as folder:
            problem = run(graph, options.arch, pathlib.Path(folder), options.seconds)
        if problem:
            failures += 1
            print(f"seed {options.seed}, graph {i}: {problem}", flush=True)
    print(f"{options.graphs if options.only is None else 1} graphs, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
