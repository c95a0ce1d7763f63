#!/usr/bin/env python3
"""Trains the primer, a small byte-level language model, and writes it as ONNX.

A developer's step: the files it writes are committed, and nothing in the build
or in the quick start runs it. NumPy is all that it needs.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 /usr/bin/python3 tools/train-primer.py

It writes
  test/e2e/models/primer.onnx           the trained model: one call takes S bytes of text
                                        and the caches, gives S rows of scores and the caches
  test/e2e/models/primer.expected.json  prompts and how NumPy, in double precision, goes on

The text is made by a seeded grammar of a school book: sums of number words, days,
months, opposites and plurals. Every sentence is true, so what the model writes can be
judged. One sum in eight is kept from the training.

The network is a decoder as language models have it today: RMS normalisation, rotary
positions, attention with caches of keys and values, a gated SiLU network, one table
for embedding and scores. The export spells all of it out in primitive operators, as
exporters do. Weights, batches and text come from fixed seeds; a run is repeatable on
one machine with one version of NumPy (matrix products may round differently elsewhere).
"""

import argparse
import json
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "e2e"))

from onnx_writer import Graph  # noqa: E402

SEED = 20260
BYTES, WIDTH, HEADS, LAYERS, HIDDEN, CONTEXT = 128, 128, 4, 2, 256, 64
HEAD = WIDTH // HEADS
EPSILON = 1e-5

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen "
        "fourteen fifteen sixteen seventeen eighteen nineteen").split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTHS = ("january february march april may june july august september october november "
          "december").split()
OPPOSITES = [pair.split("/") for pair in (
    "hot/cold big/small fast/slow old/new wet/dry hard/soft light/dark full/empty high/low "
    "long/short loud/quiet rich/poor near/far open/closed up/down left/right day/night "
    "early/late first/last true/false").split()]
PLURALS = [pair.split("/") for pair in (
    "mouse/mice foot/feet tooth/teeth goose/geese child/children man/men woman/women ox/oxen "
    "leaf/leaves wolf/wolves knife/knives city/cities baby/babies box/boxes fish/fish "
    "sheep/sheep cat/cats dog/dogs tree/trees river/rivers").split()]


def held_out(a, b):
    return (7 * a + 3 * b) % 8 == 0


def sum_of(a, b):
    return f"{ONES[a]} plus {ONES[b]} is ", f"{ONES[a + b]}."


def sentence(rng):
    """A true sentence; never a sum that is kept from the training."""
    kind = rng.integers(6)
    if kind < 2:
        while True:
            a, b = rng.integers(0, 10, 2)
            if not held_out(a, b):
                return "".join(sum_of(a, b))
    if kind in (2, 3):
        names, what = (DAYS, "day") if kind == 2 else (MONTHS, "month")
        at, step = rng.integers(len(names)), rng.choice([1, -1])
        return (f"the {what} {'after' if step > 0 else 'before'} {names[at]} is "
                f"{names[(at + step) % len(names)]}.")
    if kind == 4:
        pair = OPPOSITES[rng.integers(len(OPPOSITES))]
        at = rng.integers(2)
        return f"the opposite of {pair[at]} is {pair[1 - at]}."
    one, many = PLURALS[rng.integers(len(PLURALS))]
    return f"one {one}, two {many}."


def window(rng):
    text = ""
    while len(text) <= CONTEXT:
        text += sentence(rng) + " "
    return np.frombuffer(text[:CONTEXT + 1].encode(), np.uint8).astype(np.int64)


def rotary_tables():
    angle = np.arange(CONTEXT)[:, None] / 10000.0 ** (np.arange(HEAD // 2) / (HEAD // 2))
    angle = np.concatenate([angle, angle], 1)
    return np.cos(angle), np.sin(angle)


COS, SIN = rotary_tables()


def initial(rng):
    p = {"embedding": rng.normal(0, 0.05, (BYTES, WIDTH))}
    for i in range(LAYERS):
        for name, shape in [("q", (WIDTH, WIDTH)), ("k", (WIDTH, WIDTH)), ("v", (WIDTH, WIDTH)),
                            ("o", (WIDTH, WIDTH)), ("gate", (WIDTH, HIDDEN)),
                            ("up", (WIDTH, HIDDEN)), ("down", (HIDDEN, WIDTH))]:
            scale = shape[0] ** -0.5 / (2 * LAYERS) ** (0.5 * (name in ("o", "down")))
            p[f"{i}.{name}"] = rng.normal(0, scale, shape)
        p[f"{i}.norm1"], p[f"{i}.norm2"] = np.ones(WIDTH), np.ones(WIDTH)
    p["norm"] = np.ones(WIDTH)
    return p


def rms(x, gain):
    inverse = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
    return x * inverse * gain, (x, inverse, gain)


def rms_back(grad, saved):
    x, inverse, gain = saved
    normal = x * inverse
    inner = grad * gain
    return (inverse * (inner - normal * (inner * normal).mean(-1, keepdims=True)),
            (grad * normal).reshape(-1, gain.size).sum(0))


def half_turned(x):
    return np.concatenate([-x[..., HEAD // 2:], x[..., :HEAD // 2]], -1)


def half_turned_back(x):
    return np.concatenate([x[..., HEAD // 2:], -x[..., :HEAD // 2]], -1)


def heads(x):
    return x.reshape(*x.shape[:2], HEADS, HEAD).transpose(0, 2, 1, 3)


def joined(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], WIDTH)


def loss_and_gradients(p, tokens, targets):
    """Mean cross entropy of [N, S] tokens, and its gradient by every parameter."""
    count, length = tokens.shape
    dtype = p["embedding"].dtype
    cos, sin = COS[:length].astype(dtype), SIN[:length].astype(dtype)
    hidden = np.triu(np.full((length, length), -1e9, dtype), 1)
    x, saved = p["embedding"][tokens], []
    for i in range(LAYERS):
        normal, n1 = rms(x, p[f"{i}.norm1"])
        q, k, v = (heads(normal @ p[f"{i}.{n}"]) for n in "qkv")
        q, k = q * cos + half_turned(q) * sin, k * cos + half_turned(k) * sin
        scores = q @ k.transpose(0, 1, 3, 2) * dtype.type(HEAD ** -0.5) + hidden
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        mixed = joined(weights @ v)
        x = x + mixed @ p[f"{i}.o"]
        normal2, n2 = rms(x, p[f"{i}.norm2"])
        gate, up = normal2 @ p[f"{i}.gate"], normal2 @ p[f"{i}.up"]
        sigmoid = 1 / (1 + np.exp(-gate))
        inner = gate * sigmoid * up
        x = x + inner @ p[f"{i}.down"]
        saved.append((normal, n1, q, k, v, weights, mixed, normal2, n2, gate, up, sigmoid, inner))
    last, n = rms(x, p["norm"])
    logits = last @ p["embedding"].T
    logits = logits - logits.max(-1, keepdims=True)
    chance = np.exp(logits)
    total = chance.sum(-1, keepdims=True)
    picked = np.take_along_axis(logits, targets[..., None], -1)
    loss = (np.log(total) - picked).mean()

    g = {}
    grad = chance / total
    np.put_along_axis(grad, targets[..., None],
                      np.take_along_axis(grad, targets[..., None], -1) - 1, -1)
    grad /= dtype.type(tokens.size)

    def flat(a):
        return a.reshape(-1, a.shape[-1])

    table = flat(grad).T @ flat(last)
    grad, g["norm"] = rms_back(grad @ p["embedding"], n)
    for i in reversed(range(LAYERS)):
        (normal, n1, q, k, v, weights, mixed, normal2, n2, gate, up, sigmoid, inner) = saved[i]
        g[f"{i}.down"] = flat(inner).T @ flat(grad)
        back = grad @ p[f"{i}.down"].T
        gate_back = back * up * sigmoid * (1 + gate * (1 - sigmoid))
        up_back = back * gate * sigmoid
        g[f"{i}.gate"], g[f"{i}.up"] = flat(normal2).T @ flat(gate_back), flat(normal2).T @ flat(up_back)
        more, g[f"{i}.norm2"] = rms_back(gate_back @ p[f"{i}.gate"].T + up_back @ p[f"{i}.up"].T, n2)
        grad = grad + more
        g[f"{i}.o"] = flat(mixed).T @ flat(grad)
        back = heads(grad @ p[f"{i}.o"].T)
        v_back = weights.transpose(0, 1, 3, 2) @ back
        w_back = back @ v.transpose(0, 1, 3, 2)
        s_back = weights * (w_back - (w_back * weights).sum(-1, keepdims=True)) * dtype.type(HEAD ** -0.5)
        q_back, k_back = s_back @ k, s_back.transpose(0, 1, 3, 2) @ q
        backs = [joined(q_back * cos + half_turned_back(q_back * sin)),
                 joined(k_back * cos + half_turned_back(k_back * sin)), joined(v_back)]
        below = 0
        for name, b in zip("qkv", backs):
            g[f"{i}.{name}"] = flat(normal).T @ flat(b)
            below = below + b @ p[f"{i}.{name}"].T
        more, g[f"{i}.norm1"] = rms_back(below, n1)
        grad = grad + more
    np.add.at(table, tokens.ravel(), flat(grad))
    g["embedding"] = table
    return float(loss), g


def train(cycles, batch):
    """Cycles of the given numbers of steps, each from where the last one ended."""
    rng = np.random.default_rng(SEED)
    p = {name: value.astype(np.float32) for name, value in initial(rng).items()}
    for steps in cycles:
        p = train_cycle(p, rng, steps, batch)
    return p


def train_cycle(p, rng, steps, batch, rate=4e-3, decay=0.01):
    """Adam with warm-up and a cosine schedule, in single precision."""
    p = dict(p)
    first = {name: np.zeros_like(value) for name, value in p.items()}
    second = {name: np.zeros_like(value) for name, value in p.items()}
    for step in range(1, steps + 1):
        windows = np.stack([window(rng) for _ in range(batch)])
        loss, g = loss_and_gradients(p, windows[:, :-1], windows[:, 1:])
        norm = np.sqrt(sum(float((value * value).sum()) for value in g.values()))
        now = rate * min(1, step / 50) * 0.5 * (1 + np.cos(np.pi * step / steps))
        for name, value in p.items():
            gradient = g[name] * np.float32(min(1, 1 / norm))
            first[name] = np.float32(0.9) * first[name] + np.float32(0.1) * gradient
            second[name] = np.float32(0.98) * second[name] + np.float32(0.02) * gradient * gradient
            change = first[name] / np.float32(1 - 0.9 ** step) / (
                np.sqrt(second[name] / np.float32(1 - 0.98 ** step)) + np.float32(1e-8))
            if value.ndim == 2:
                change = change + np.float32(decay) * value
            p[name] = value - np.float32(now) * change
        if step % 50 == 0 or step == steps:
            print(f"step {step}: loss {loss:.4f}", flush=True)
    return p


def scores(p, tokens, positions, caches):
    """What the exported model computes, in double precision: [S, BYTES]. The caches are
    [HEADS, CONTEXT, HEAD] for keys and values of each layer, and are changed."""
    def norm(x, gain):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * gain

    def turned(x):  # [HEADS, S, HEAD]
        return x * COS[positions] + half_turned(x) * SIN[positions]

    def split(x):
        return x.reshape(len(tokens), HEADS, HEAD).transpose(1, 0, 2)

    visible = np.arange(CONTEXT)[None] <= positions[:, None]
    x = p["embedding"][tokens]
    for i in range(LAYERS):
        normal = norm(x, p[f"{i}.norm1"])
        q, k, v = (split(normal @ p[f"{i}.{n}"]) for n in "qkv")
        caches[2 * i][:, positions], caches[2 * i + 1][:, positions] = turned(k), v
        s = turned(q) @ caches[2 * i].transpose(0, 2, 1) * HEAD ** -0.5
        s = np.where(visible, s, -np.inf)
        w = np.exp(s - s.max(-1, keepdims=True))
        mixed = (w / w.sum(-1, keepdims=True)) @ caches[2 * i + 1]
        x = x + mixed.transpose(1, 0, 2).reshape(len(tokens), WIDTH) @ p[f"{i}.o"]
        normal = norm(x, p[f"{i}.norm2"])
        gate = normal @ p[f"{i}.gate"]
        x = x + (gate / (1 + np.exp(-gate)) * (normal @ p[f"{i}.up"])) @ p[f"{i}.down"]
    return norm(x, p["norm"]) @ p["embedding"].T


def go_on(p, prompt, count):
    """The greedy continuation of a prompt, and the smallest lead of a choice."""
    p = {name: value.astype(np.float64) for name, value in p.items()}
    caches = [np.zeros((HEADS, CONTEXT, HEAD)) for _ in range(2 * LAYERS)]
    tokens, at, text, lead = np.frombuffer(prompt.encode(), np.uint8).astype(int), 0, b"", np.inf
    for _ in range(count):
        row = scores(p, tokens, np.arange(at, at + len(tokens)), caches)[-1]
        order = np.argsort(row)
        lead = min(lead, float(row[order[-1]] - row[order[-2]]))
        at += len(tokens)
        tokens = order[-1:]
        text += bytes([int(tokens[0])])
    return text.decode("latin-1"), lead


def export(p):
    """The network in primitive operators: opset 17, S new positions a call."""
    graph = Graph(17, "primer")
    tokens = graph.input("input_ids", "int64", [1, "S"])
    position = graph.input("position_ids", "int64", [1, "S"])
    past = [graph.input(f"past_{kind}_{i}", "float32", [1, HEADS, CONTEXT, HEAD])
            for i in range(LAYERS) for kind in ("key", "value")]

    def weight(name):
        return graph.weight(name, p[name].astype(np.float32))

    def constant(value, dtype=np.float32):
        return graph.weight(f"const_{len(graph.weights)}", np.array(value, dtype))

    def node(op, *inputs, **attributes):
        return graph.node(op, list(inputs), **attributes)

    def norm(x, gain):
        square = node("Pow", x, constant(2.0))
        mean = node("ReduceMean", square, axes=[-1], keepdims=1)
        root = node("Sqrt", node("Add", mean, constant(EPSILON)))
        return node("Mul", weight(gain), node("Mul", x, node("Div", constant(1.0), root)))

    def split(x):
        shape = constant([1, -1, HEADS, HEAD], np.int64)
        return node("Transpose", node("Reshape", x, shape), perm=[0, 2, 1, 3])

    def slice_of(x, start, end):
        return node("Slice", x, *(constant([n], np.int64) for n in (start, end, -1, 1)))

    cos = node("Unsqueeze", node("Gather", graph.weight("cos", COS.astype(np.float32)), position),
               constant([1], np.int64))
    sin = node("Unsqueeze", node("Gather", graph.weight("sin", SIN.astype(np.float32)), position),
               constant([1], np.int64))

    def turned(x):
        swapped = node("Concat", node("Neg", slice_of(x, HEAD // 2, HEAD)),
                       slice_of(x, 0, HEAD // 2), axis=-1)
        return node("Add", node("Mul", x, cos), node("Mul", swapped, sin))

    column = node("Reshape", position, constant([1, 1, -1, 1], np.int64))
    visible = node("LessOrEqual", constant(np.arange(CONTEXT).reshape(1, 1, 1, CONTEXT), np.int64),
                   column)
    hidden = node("Where", visible, constant(0.0), constant(np.finfo(np.float32).min))
    x = node("Gather", weight("embedding"), tokens)
    present = []
    for i in range(LAYERS):
        normal = norm(x, f"{i}.norm1")
        q, k, v = (split(node("MatMul", normal, weight(f"{i}.{n}"))) for n in "qkv")
        q, k = turned(q), turned(k)
        where = node("Expand", column, node("Shape", k))
        keys = node("ScatterElements", past[2 * i], where, k, axis=2)
        values = node("ScatterElements", past[2 * i + 1], where, v, axis=2)
        present += [(f"present_key_{i}", keys), (f"present_value_{i}", values)]
        s = node("MatMul", q, node("Transpose", keys, perm=[0, 1, 3, 2]))
        s = node("Add", node("Div", s, constant(HEAD ** 0.5)), hidden)
        mixed = node("MatMul", node("Softmax", s, axis=-1), values)
        mixed = node("Reshape", node("Transpose", mixed, perm=[0, 2, 1, 3]),
                     constant([1, -1, WIDTH], np.int64))
        x = node("Add", x, node("MatMul", mixed, weight(f"{i}.o")))
        normal = norm(x, f"{i}.norm2")
        gate = node("MatMul", normal, weight(f"{i}.gate"))
        gate = node("Mul", gate, node("Sigmoid", gate))
        inner = node("Mul", gate, node("MatMul", normal, weight(f"{i}.up")))
        x = node("Add", x, node("MatMul", inner, weight(f"{i}.down")))
    table = node("Transpose", weight("embedding"), perm=[1, 0])
    logits = node("MatMul", norm(x, "norm"), table)
    graph.output("logits", logits, "float32", [1, "S", BYTES])
    for name, value in present:
        graph.output(name, value, "float32", [1, HEADS, CONTEXT, HEAD])
    return graph.bytes()


PROMPTS = ["the day after monday is ", "three plus nine is ", "the month before june is ",
           "the opposite of hot is ", "one goose, two ", "the day before friday is "]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, nargs="+", default=[320])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT,
                        help="the checkout to write into (default: this one)")
    options = parser.parse_args()
    p = train(options.cycles, options.batch)

    models = options.root / "test/e2e/models"
    models.mkdir(parents=True, exist_ok=True)
    (models / "primer.onnx").write_bytes(export(p))
    cases = []
    for prompt in PROMPTS:
        text, lead = go_on(p, prompt, 32)
        cases.append({"prompt": prompt, "text": text})
        print(f"{prompt}|{text}  (smallest lead {lead:.3f})")
    (models / "primer.expected.json").write_text(json.dumps(cases, indent=1) + "\n")
    right = {True: [0, 0], False: [0, 0]}
    for a in range(10):
        for b in range(10):
            prompt, answer = sum_of(a, b)
            right[held_out(a, b)][0] += go_on(p, prompt, len(answer))[0] == answer
            right[held_out(a, b)][1] += 1
    for held, (good, count) in right.items():
        print(f"{good} of {count} sums {'kept from' if held else 'of'} the training are right")


if __name__ == "__main__":
    main()
