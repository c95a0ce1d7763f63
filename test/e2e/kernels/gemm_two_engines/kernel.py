"""y = a · b, 256 × 256 × 128 in bf16, on a core with two matrix engines."""

from numerics import bf16_bits, bf16_values, multiply_bf16

ARCH = "two_engines.yaml"
MACS = 256 * 256 * 128
PEAK = 2 * 32 * 32
# Each engine: 4 panels of 2 × 2 blocks of 256 rows; its `signal` goes while rows stream. All
# weights but the first block's 32 cycles load behind rows.
ENGINE_CYCLES = {
    "matrix": {"busy": 4 * 4 * 256},
    "matrix1": {"busy": 4 * 4 * 256},
}


def inputs(random):
    return {"a": bf16_bits(random.uniform(-1, 1, (256, 256))),
            "b": bf16_bits(random.uniform(-1, 1, (256, 128)))}


def reference(given):
    return [multiply_bf16(bf16_values(given["a"]), bf16_values(given["b"]))]
