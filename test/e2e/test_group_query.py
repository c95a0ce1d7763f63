#!/usr/bin/env python3
"""GroupQueryAttention of com.microsoft, prompt and generation, against NumPy."""

import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase, floats

HEADS, GROUPS, SIZE = 4, 2, 8
ANGLES = np.outer(np.arange(16), 100.0 ** (-np.arange(SIZE // 2) / 4))


def in_heads(x):
    batch, length, width = x.shape
    return x.reshape(batch, length, width // SIZE, SIZE).transpose(0, 2, 1, 3).astype(np.float64)


def rotate(x, at):
    """x [batch, heads, length, size], each token by the angles of its position."""
    cos, sin = np.cos(ANGLES)[at][:, None], np.sin(ANGLES)[at][:, None]
    low, high = x[..., :SIZE // 2], x[..., SIZE // 2:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)


def group_query(query, key, value, past, last, rotates=False, softcap=0.0, bias=0.0):
    """The result and the caches. `past` are two caches with places for all tokens; the newest
    token of each batch has the place `last`, and a first call begins at place 0."""
    batch, length, _ = query.shape
    first = past is None
    begin = np.zeros(batch, int) if first else last + 1 - length
    q, k, v = in_heads(query), in_heads(key), in_heads(value)
    at = begin[:, None] + np.arange(length)
    if rotates:
        q, k = rotate(q, at), rotate(k, at)
    if first:
        keys, values = k, v
    else:
        keys, values = (p.astype(np.float64) for p in past)
        for b in range(batch):
            keys[b, :, at[b]], values[b, :, at[b]] = k[b].swapaxes(0, 1), v[b].swapaxes(0, 1)
    repeat = HEADS // GROUPS
    scores = q @ np.repeat(keys, repeat, 1).swapaxes(-1, -2) / np.sqrt(SIZE)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    scores = scores + bias
    seen = np.arange(keys.shape[2]) <= at[:, None, :, None]
    scores = np.where(seen, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    result = (e / e.sum(-1, keepdims=True)) @ np.repeat(values, repeat, 1)
    result = result.transpose(0, 2, 1, 3).reshape(batch, length, HEADS * SIZE)
    return [a.astype(np.float32) for a in (result, keys, values)]


class GroupQuery(OperatorCase):
    def build(self, length, last, total, past=0, packed=False, bias=None, **options):
        batch = len(last)
        q = floats(batch, length, HEADS * SIZE)
        k, v = floats(batch, length, GROUPS * SIZE), floats(batch, length, GROUPS * SIZE)
        m = Model(21)
        names = [m.input("qkv", np.concatenate([q, k, v], -1)), "", ""] if packed else \
            [m.input("q", q), m.input("k", k), m.input("v", v)]
        caches = [floats(batch, GROUPS, past, SIZE) for _ in range(2)] if past else None
        names += [m.input(f"past{i}", c) for i, c in enumerate(caches)] if past else ["", ""]
        newest = np.array(last, np.int32)
        names += [m.input("newest", newest), m.constant(np.array(total, np.int32))]
        rotates = options.get("do_rotary", 0)
        if rotates:
            names += [m.constant(f(ANGLES).astype(np.float32)) for f in (np.cos, np.sin)]
        if bias is not None:
            names += [""] * (10 - len(names)) + [m.input("bias", bias)]
        room = None
        if past and total > past:
            room = [np.pad(c, ((0, 0), (0, 0), (0, total - past), (0, 0))) for c in caches]
        elif past:
            room = caches
        wanted = group_query(q, k, v, room, newest, bool(rotates), options.get("softcap", 0.0),
                             0.0 if bias is None else bias)
        m.node("GroupQueryAttention", names, wanted, domain="com.microsoft", num_heads=HEADS,
               kv_num_heads=GROUPS, **options)
        self.check(m, rtol=1e-4, atol=1e-5)

    def test_prompt(self):
        self.build(5, [4, 4], 5)
        self.build(5, [4, 4], 5, packed=True, do_rotary=1)

    def test_a_token_behind_caches_of_two_lengths(self):
        self.build(1, [6, 2], 7, past=10, do_rotary=1)

    def test_a_cache_that_grows(self):
        self.build(1, [6], 7, past=6, do_rotary=1, softcap=2.0)
        self.build(2, [7], 8, past=6, bias=floats(1, HEADS, 2, 8))


if __name__ == "__main__":
    unittest.main()
