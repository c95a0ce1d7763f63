"""c = a · b, 1024³ in bf16 on one core of `server`."""

from numerics import bf16_bits, bf16_values, multiply_bf16

ARCH = "server"
# The matrix engine's share of the cycles from the first fetch to the core's end: 0.978.
UTILIZATION = {"matrix": 0.97}
MACS = 1024 ** 3
PEAK = 128 * 128
# Mutants of this kernel in a normal test run: one takes a second.
SAMPLE = 8


def inputs(random):
    return {name: bf16_bits(random.uniform(-1, 1, (1024, 1024))) for name in ("a", "b")}


def reference(given):
    return [multiply_bf16(bf16_values(given["a"]), bf16_values(given["b"]))]
