"""A quantised layer, 256³ in int8 on one core of `edge`."""

import numpy as np

from numerics import multiply_integers

ARCH = "edge"
# The share of the matrix peak: 0.811. The rest: the first panel and part of the weights
# come from memory, and the last panel is requantised and stored.
UTILIZATION = {"matrix": 0.78}
MACS = 256 ** 3
PEAK = 2 * 32 * 32


def inputs(random):
    return {
        "a": random.integers(-128, 128, (256, 256)).astype(np.int8),
        "w": random.integers(-128, 128, (256, 256)).astype(np.int8),
        # Some columns saturate.
        "scale": random.uniform(0.0002, 0.003, 256).astype(np.float32),
    }


def reference(given):
    sums = multiply_integers(given["a"], given["w"].T).astype(np.int32)
    scaled = np.rint(sums.astype(np.float32) * given["scale"])
    return [np.clip(scaled, -128, 127).astype(np.int8)]
