"""A transposition at burst efficiency on one core of `edge`."""

import numpy as np

ARCH = "edge"


def inputs(random):
    return {"x": random.integers(0, 1 << 16, (256, 384)).astype(np.uint16)}


def reference(given):
    return [np.ascontiguousarray(given["x"].T)]
