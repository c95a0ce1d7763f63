"""3 × 3 convolution with stride 2 and padding on one core of `edge`."""

import numpy as np

from numerics import bf16_bits, bf16_values, multiply_bf16

ARCH = "edge"
# The share of the matrix peak: 0.803. The rest: the first image and a third of the filters
# come from memory, and the last image is made bf16 and stored.
UTILIZATION = {"matrix": 0.77}
MACS = 4 * 10 * 10 * 64 * 3 * 3 * 32
PEAK = 32 * 32


def inputs(random):
    return {
        "image": bf16_bits(random.uniform(-1, 1, (4, 20, 20, 32))),
        "filter": bf16_bits(random.uniform(-1, 1, (3, 3, 32, 64))),
        "bias": random.uniform(-1, 1, 64).astype(np.float32),
    }


def reference(given):
    image, weights = bf16_values(given["image"]), bf16_values(given["filter"])
    padded = np.zeros((4, 22, 22, 32), np.float32)
    padded[:, 1:21, 1:21] = image
    # Windows of one output pixel in the order kh, kw, c.
    rows = np.stack([padded[:, y:y + 19:2, x:x + 19:2] for y in range(3) for x in range(3)], 3)
    sums = multiply_bf16(rows.reshape(400, 288), weights.reshape(288, 64))
    return [bf16_bits(np.maximum(sums + given["bias"], np.float32(0))).reshape(4, 10, 10, 64)]
