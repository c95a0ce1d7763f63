"""Formats and products for the kernels' references, computed with NumPy alone.

Formats that NumPy lacks travel as their bits in unsigned integers.
"""

import numpy as np


def bf16_bits(values):
    """Rounds to nearest even; the values are finite and far from overflow."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def bf16_values(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def multiply_bf16(a, b, start=None):
    """a · b of bf16 values (as float32), each sum as the device adds it.

    A product of two bf16 values is exact in float32 (8 by 8 bits of significand;
    the exponents of these tests stay in range), so a float32 addition of it is what
    one fused multiply-add gives. k ascends.
    """
    sums = np.zeros((a.shape[0], b.shape[1]), np.float32) if start is None else start.copy()
    product = np.empty_like(sums)
    for k in range(a.shape[1]):
        np.multiply(a[:, k, None], b[None, k, :], out=product)
        sums += product
    return sums


def multiply_integers(a, b):
    """a · b of small integers, exact."""
    return np.rint(a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
