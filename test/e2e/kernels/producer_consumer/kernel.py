"""Tiles handed from one core of `edge` to the other through device memory."""

import numpy as np

ARCH = "edge"


def inputs(random):
    return {"x": random.uniform(-4, 4, (8, 1024)).astype(np.float32)}


def reference(given):
    x = given["x"]
    return [np.sqrt(x * x + np.float32(1))]
