"""Decoder layers of the Llama family: RMS norm, rotary embedding, grouped queries and a
gated feed-forward network; with experts in place of it, a layer of Mixtral.

Decode attends over a cache of `context` entries, the new token's own included; the new
key and value are results, to be written into the cache by the caller.
"""

import numpy as np

from graph import Graph
from transformer import attend, causal_mask, heads, join


def rms_norm(g, x):
    """As exporters spell it: x / sqrt(mean(x^2) + epsilon) * weight."""
    square = g.binary("Mul", x, x)
    mean = g.node("ReduceMean", [square, g.integers(-1)], (*g.shape(x)[:-1], 1), keepdims=1)
    root = g.unary("Sqrt", g.binary("Add", mean, g.values(1e-5)))
    return g.binary("Mul", g.binary("Div", x, root), g.values(np.ones(g.shape(x)[-1])))


def rotary(g, x, first):
    """Rotates pairs (i, i + size/2) of every head by position x frequency; `first` is the
    position of the first token."""
    tokens, size = g.shape(x)[-2:]
    angle = np.outer(np.arange(first, first + tokens), 1e4 ** (-np.arange(0, size, 2) / size))
    angle = np.concatenate([angle, angle], axis=-1)
    axis = len(g.shape(x)) - 1
    left, right = g.slice(x, axis, 0, size // 2), g.slice(x, axis, size // 2, size)
    turned = g.concat([g.unary("Neg", right), left], -1)
    return g.binary("Add", g.binary("Mul", x, g.values(np.cos(angle))),
                    g.binary("Mul", turned, g.values(np.sin(angle))))


def grouped(g, query, kv_heads):
    """Query heads that share a key head become rows of one product."""
    batch, count, tokens, size = g.shape(query)
    return g.reshape(query, batch, kv_heads, count // kv_heads * tokens, size)


def gated(g, x, hidden):
    gate, up = g.linear(x, hidden, bias=False), g.linear(x, hidden, bias=False)
    gate = g.binary("Mul", gate, g.unary("Sigmoid", gate))
    return g.linear(g.binary("Mul", gate, up), g.shape(x)[-1], bias=False)


def experts(g, x, hidden, count=8, chosen=2):
    """`chosen` of `count` experts per token in a fixed, balanced routing: each expert takes an
    equal run of tokens. The router's weights scale the results; its choice isn't used."""
    batch, tokens, features = g.shape(x)
    share = batch * tokens * chosen // count
    rows = g.reshape(x, batch * tokens, features)
    weights = g.softmax(g.linear(rows, count, bias=False))
    total = None
    per_round = count // chosen
    for turn in range(chosen):
        parts = []
        for place in range(per_round):
            expert = turn * per_round + place
            with g.within("experts", expert):
                begin, end = place * share, (place + 1) * share
                scale = g.slice(g.slice(weights, 0, begin, end), 1, expert, expert + 1)
                parts.append(g.binary("Mul", gated(g, g.slice(rows, 0, begin, end), hidden), scale))
        part = g.concat(parts, 0)
        total = part if total is None else g.binary("Add", total, part)
    return g.reshape(total, batch, tokens, features)


def layer(element, tokens=2048, features=4096, count=32, kv_heads=32, hidden=11008, batch=1,
          context=None, network=gated, layers=1):
    """One or more decoder layers; prefill of `tokens`, or decode of one token per sequence
    when `context` is given."""
    g = Graph(element)
    tokens = tokens if context is None else 1
    size = features // count
    x = g.input("hidden", batch, tokens, features)
    # Rows of grouped queries repeat the mask once per query head of the group.
    mask = None
    if context is None:
        mask = causal_mask(g, tokens)
        if kv_heads != count:
            mask = g.concat([mask] * (count // kv_heads), 2)
    for index in range(layers):
        with g.within("layers", index):
            normal = rms_norm(g, x)
            query = heads(g, g.linear(normal, features, bias=False), count)
            key = heads(g, g.linear(normal, kv_heads * size, bias=False), kv_heads)
            value = heads(g, g.linear(normal, kv_heads * size, bias=False), kv_heads)
            first = 0 if context is None else context - 1
            query, key = rotary(g, query, first), rotary(g, key, first)
            if context is not None:
                g.output(key)
                g.output(value)
                key, value = (g.input(f"{kind}_cache_{index}", batch, kv_heads, context, size)
                              for kind in ("key", "value"))
            mixed = attend(g, grouped(g, query, kv_heads), key, value, mask)
            mixed = join(g, g.reshape(mixed, batch, count, tokens, size))
            x = g.binary("Add", x, g.linear(mixed, features, bias=False))
            x = g.binary("Add", x, network(g, rms_norm(g, x), hidden))
    g.output(x)
    return g


LLAMA_7B = {"kv_heads": 32, "hidden": 11008}
LLAMA3_8B = {"kv_heads": 8, "hidden": 14336}
MIXTRAL = {"kv_heads": 8, "hidden": 14336, "network": experts}
