"""A tile of attention with online softmax: 64 queries, 256 keys, heads of 64, on one core of `edge`."""

import numpy as np

from numerics import bf16_bits, bf16_values, exp, multiply_bf16, reduce_sum

ARCH = "edge"
KEYS = 64  # in one step


def inputs(random):
    return {
        "q": bf16_bits(random.normal(0, 1, (64, 64))),
        "k": bf16_bits(random.normal(0, 1, (256, 64))),
        "v": bf16_bits(random.normal(0, 1, (256, 64))),
    }


def reference(given):
    q, k, v = (bf16_values(given[name]) for name in ("q", "k", "v"))
    scale = np.float32(0.125)
    largest = np.full(64, -np.inf, np.float32)
    total = np.zeros(64, np.float32)
    result = np.zeros((64, 64), np.float32)
    for first in range(0, 256, KEYS):
        scores = multiply_bf16(q, k[first:first + KEYS].T)
        before, largest = largest, np.maximum(scores.max(axis=1) * scale, largest)
        shrink = exp(before - largest)
        p = bf16_values(bf16_bits(exp(scores * scale - largest[:, None])))
        total = total * shrink + reduce_sum(p)
        result = multiply_bf16(p, v[first:first + KEYS], result * shrink[:, None])
    return [bf16_bits(result / total[:, None])]
