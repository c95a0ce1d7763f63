"""Depthwise 3 × 3 convolution with padding on the vector engine of one core of `edge`."""

import numpy as np

from numerics import bf16_bits, bf16_values, reduce_sum

ARCH = "edge"


def inputs(random):
    return {
        "image": bf16_bits(random.uniform(-1, 1, (4, 16, 16, 64))),
        "filter": random.uniform(-1, 1, (3, 3, 64)).astype(np.float32),
    }


def reference(given):
    padded = np.zeros((4, 18, 18, 64), np.float32)
    padded[:, 1:17, 1:17] = bf16_values(given["image"])
    products = np.stack([padded[:, y:y + 16, x:x + 16] * given["filter"][y, x]
                         for y in range(3) for x in range(3)], -1)
    return [bf16_bits(reduce_sum(products))]
