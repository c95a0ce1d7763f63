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


def reduce_sum(values):
    """Sums of the last axis as the vector engine adds: 64 partial sums in turn, then a tree."""
    values = np.asarray(values, np.float32)
    count = values.shape[-1]
    sums = np.zeros(values.shape[:-1] + (64,), np.float32)
    for first in range(0, count, 64):
        part = values[..., first:first + 64]
        sums[..., :part.shape[-1]] += part
    while sums.shape[-1] > 1:
        sums = sums[..., 0::2] + sums[..., 1::2]
    return sums[..., 0]


def exp(values):
    """eˣ of float32 by the device's written-down algorithm, in float64; docs/numerics.md."""
    x = np.asarray(values, np.float64)
    inside = np.clip(x, -104, 89)
    shifted = inside * float.fromhex("0x1.71547652b82fep+0")
    k = np.trunc(shifted + np.where(shifted < 0, -0.5, 0.5))
    r = (inside - k * float.fromhex("0x1.62e42fee00000p-1")) \
        - k * float.fromhex("0x1.a39ef35793c76p-33")
    total = np.ones_like(r)
    for n in range(13, 0, -1):
        total = 1.0 + total * r / n
    result = np.ldexp(total, k.astype(np.int64)).astype(np.float32)
    return np.where(x < -104, np.float32(0), np.where(x > 89, np.float32(np.inf), result))


def rsqrt(values):
    """1 / √x of float32 above 0, in float64 and rounded once."""
    return (1.0 / np.sqrt(np.asarray(values, np.float64))).astype(np.float32)
