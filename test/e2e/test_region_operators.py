#!/usr/bin/env python3
"""ONNX operators on regions, patches, caches and windows against NumPy."""

import itertools
import unittest

import numpy as np

from onnx_writer import Model
from operator_case import OperatorCase, floats, integers


def f32(x):
    return np.asarray(x, np.float32)


def wide(*values):
    return np.array(values, np.int64)


def roi_align(images, boxes, batches, rows, columns, ratio, scale, shift, mode):
    """One sample after the other, as the specification describes it."""
    out = np.zeros((len(boxes), images.shape[1], rows, columns))
    for r, box in enumerate(boxes * np.float64(scale) - shift):
        width, height = box[2] - box[0], box[3] - box[1]
        if not shift:
            width, height = max(width, 1), max(height, 1)
        for i, j in itertools.product(range(rows), range(columns)):
            samples = []
            for a, b in itertools.product(range(ratio), range(ratio)):
                y = box[1] + (i + (a + 0.5) / ratio) * height / rows
                x = box[0] + (j + (b + 0.5) / ratio) * width / columns
                image, bottom, right = images[batches[r]], images.shape[2] - 1, images.shape[3] - 1
                if y < -1 or x < -1 or y > bottom + 1 or x > right + 1:
                    samples.append([np.zeros(len(image))] * 4)
                    continue
                y, x = min(max(y, 0), bottom), min(max(x, 0), right)
                t, l = int(y), int(x)
                v, u = y - t, x - l
                b2, r2 = min(t + 1, bottom), min(l + 1, right)
                samples.append([image[:, t, l] * (1 - v) * (1 - u), image[:, t, r2] * (1 - v) * u,
                                image[:, b2, l] * v * (1 - u), image[:, b2, r2] * v * u])
            s = np.array(samples)  # [sample, corner, channel]
            out[r, :, i, j] = s.sum(1).mean(0) if mode == "avg" else s.max((0, 1))
    return f32(out)


class Regions(OperatorCase):
    def test_roi_align(self):
        images, batches = floats(2, 3, 7, 9), wide(0, 1, 1, 0)
        boxes = f32([[0, 0, 9, 7], [2.3, 1.1, 5.7, 6.2], [-3, -2, 4, 3], [7, 5, 14, 11]])
        for shift, mode in ((0.5, "avg"), (0, "avg"), (0.5, "max")):
            m = Model(16)
            operands = [m.input("images", images), m.input("boxes", boxes), m.input("batches", batches)]
            name = "half_pixel" if shift else "output_half_pixel"
            want = roi_align(images, boxes, batches, 3, 2, 2, 0.75, shift, mode)
            m.node("RoiAlign", operands, want, output_height=3, output_width=2, sampling_ratio=2,
                   spatial_scale=0.75, coordinate_transformation_mode=name, mode=mode)
            self.check(m, rtol=1e-4, atol=1e-5)

    def test_affine_grid(self):
        for size, corners in ((wide(2, 1, 3, 5), 0), (wide(2, 1, 3, 5), 1), (wide(1, 2, 2, 3, 4), 0)):
            m = Model(20)
            spatial = size[2:]
            maps = floats(size[0], len(spatial), len(spatial) + 1)
            axes = [np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in spatial]
            places = np.meshgrid(*axes, indexing="ij")[::-1]
            base = np.stack([*places, np.ones(spatial)], -1)
            want = np.einsum("...k,nik->n...i", base, maps)
            m.node("AffineGrid", [m.input("maps", maps), m.constant(size)], f32(want), align_corners=corners)
            self.check(m)

    def test_center_crop_pad(self):
        m = Model(18)
        x = floats(5, 7, 4)
        v = m.input("x", x)
        want = np.zeros((3, 10, 4), np.float32)
        want[:, 1:8] = x[1:4]
        m.node("CenterCropPad", [v, m.constant(wide(3, 10, 4))], want)
        m.node("CenterCropPad", [v, m.constant(wide(4, 2))], x[:, 1:5, 1:3], axes=[1, -1])
        self.check(m, rtol=0, atol=0)

    def test_col2im(self):
        for image, block, strides, dilations, pads in (
                ((5, 7), (2, 3), (1, 1), (1, 1), (0, 0, 0, 0)),
                ((7, 6), (3, 2), (2, 3), (1, 2), (1, 0, 2, 1)), ((5, 4, 3), (2, 2, 1), (1, 2, 1), (1, 1, 1), [0] * 6)):
            m = Model(18)
            rank = len(image)
            full = [image[i] + pads[i] + pads[rank + i] for i in range(rank)]
            counts = [(full[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
            columns = floats(2, 3 * int(np.prod(block)), int(np.prod(counts)))
            parts = columns.reshape(2, 3, *block, *counts)
            want = np.zeros((2, 3, *full))
            for tap in itertools.product(*map(range, block)):
                for at in itertools.product(*map(range, counts)):
                    place = tuple(a * s + t * d for a, s, t, d in zip(at, strides, tap, dilations))
                    want[(..., *place)] += parts[(slice(None), slice(None), *tap, *at)]
            inner = tuple(slice(pads[i], pads[i] + image[i]) for i in range(rank))
            m.node("Col2Im", [m.input("columns", columns), m.constant(wide(*image)), m.constant(wide(*block))],
                   f32(want[(..., *inner)]), strides=list(strides), dilations=list(dilations), pads=list(pads))
            self.check(m)

    def test_regions_beyond_the_image(self):
        m = Model(13)
        x = floats(1, 1, 4, 3)
        region = m.constant(f32([0, 0, -0.5, 0, 1, 1, 1, 2]))
        scales, sizes = m.constant(f32([])), m.constant(wide(1, 1, 4, 5))
        rows = -0.5 * 3 + np.arange(4) * 1.5  # From -1.5 to 3 of rows 0 to 3.
        columns = np.arange(5)  # From 0 to 4 of columns 0 to 2.
        want = np.full((1, 1, 4, 5), 9, np.float32)
        for i, j in itertools.product(range(4), range(3)):
            if rows[i] >= 0:
                low, part = int(rows[i]), rows[i] % 1
                want[0, 0, i, j] = x[0, 0, low, columns[j]] * (1 - part) + part * x[0, 0, min(low + 1, 3), j]
        want = np.where(rows[:, None] < 0, np.float32(9), want)
        m.node("Resize", [m.input("x", x), region, scales, sizes], want, mode="linear",
               coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0)
        self.check(m)


class Caches(OperatorCase):
    def test_tensor_scatter(self):
        m = Model(24)
        cache, update = floats(3, 2, 7, 4), floats(3, 2, 3, 4)
        at = wide(0, 4, 2)
        c, u, i = m.input("cache", cache), m.input("update", update), m.input("at", at)
        linear, circular = cache.copy(), cache.copy()
        for b, step in itertools.product(range(3), range(3)):
            linear[b, :, at[b] + step] = update[b, :, step]
            circular[b, :, (at[b] + 2 + step) % 7] = update[b, :, step]
        first = cache.copy()
        first[:, :, :3] = update
        m.node("TensorScatter", [c, u, i], linear)
        late = m.input("late", at + 2)
        m.node("TensorScatter", [c, u, late], circular, mode="circular", axis=2)
        m.node("TensorScatter", [c, u], first)
        self.check(m, rtol=0, atol=0)

    def test_running_sums_and_products(self):
        m = Model(26)
        x = floats(3, 7)
        x[1, 2] = np.inf  # Stays where it is: nothing before it changes.
        n = integers(np.int64, 5, 3)
        a, b = m.input("x", x), m.input("n", n)
        one, zero = m.constant(np.array(1, np.int64)), m.constant(np.array(-2, np.int32))
        m.node("CumSum", [a, one], np.cumsum(x, 1))
        m.node("CumSum", [a, zero], np.cumsum(x[::-1], 0)[::-1], reverse=1)
        before = np.concatenate([np.zeros((3, 1), np.float32), np.cumsum(x, 1)[:, :-1]], 1)
        m.node("CumSum", [a, one], before, exclusive=1)
        with np.errstate(over="ignore"):
            m.node("CumSum", [b, zero], np.cumsum(n, 0))
            m.node("CumProd", [b, zero], np.cumprod(n, 0))
            after = np.concatenate([np.cumprod(n[::-1], 0)[::-1][1:], np.ones((1, 3), np.int64)])
            m.node("CumProd", [b, zero], after, exclusive=1, reverse=1)
        self.check(m)


class Norms(OperatorCase):
    def test_lp(self):
        m = Model(22)
        x = floats(2, 3, 6, 7)
        x[0, 1, 2] = 0
        v = m.input("x", x)
        size = np.abs(x.astype(np.float64))
        norm = np.sqrt((size**2).sum(-1, keepdims=True))
        m.node("LpNormalization", [v], f32(x / np.where(norm == 0, 1, norm)))
        m.node("LpNormalization", [v], f32(x / size.sum(1, keepdims=True)), p=1, axis=1)
        for p in (1, 2, 3):
            windows = np.lib.stride_tricks.sliding_window_view(size**p, (2, 3), (2, 3))[:, :, ::2, ::2]
            m.node("LpPool", [v], f32(windows.sum((-2, -1))**(1 / p)), kernel_shape=[2, 3], strides=[2, 2], p=p)
            m.node("GlobalLpPool", [v], f32((size**p).sum((2, 3), keepdims=True)**(1 / p)), p=p)
        # 7 columns and padding make 9; with steps of 2 the last of 4 windows ends there.
        padded = np.pad(size**2, ((0, 0), (0, 0), (1, 2), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
        m.node("LpPool", [v], f32(np.sqrt(windows.sum((-2, -1)))), kernel_shape=[3, 3], strides=[2, 2],
               pads=[1, 1, 1, 1], ceil_mode=1)
        self.check(m)

    def test_determinants(self):
        m = Model(22)
        for n in (1, 2, 3, 5, 8):
            x = floats(2, 3, n, n)
            m.node("Det", [m.input(f"x{n}", x)], f32(np.linalg.det(x.astype(np.float64))))
        singular = f32([[0, 0, 1], [0, 0, 2], [3, 1, 2]])
        m.node("Det", [m.input("s", singular)], f32(0))
        swaps = f32([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
        m.node("Det", [m.input("t", swaps)], f32(1))
        self.check(m, rtol=1e-4, atol=1e-4)


class Remainders(OperatorCase):
    def test_floats(self):
        m = Model(13)
        rng = np.random.default_rng(3)
        exponents = rng.integers(-120, 120, (2, 300))
        x, y = f32(rng.uniform(-2, 2, (2, 300)) * 2.0**exponents)
        # Quotients that are whole or round to a whole number, and what is no number.
        x[:8] = [3e38, -3e38, 8388607, 6, -6, np.inf, 5, -5]
        y[:8] = [1e-37, 3.1e-38, 0.1, 2, 4, 3, np.inf, -np.inf]
        y[8:40] = f32(rng.uniform(1, 2, 32))
        x[8:40] = y[8:40] * np.arange(4080, 4112, dtype=np.float32)
        a, b = m.input("x", x), m.input("y", y)
        with np.errstate(invalid="ignore"):
            m.node("Mod", [a, b], np.fmod(x, y), fmod=1)
            m.node("Mod", [a, b], np.mod(x, y), fmod=0)
        self.check(m, rtol=0, atol=0)
        m = Model(13)
        x, y = floats(4, 5, low=-200).astype(np.float16), floats(4, 5).astype(np.float16)
        m.node("Mod", [m.input("x", x), m.input("y", y)], np.fmod(x, y), fmod=1)
        self.check(m, rtol=0, atol=0)


class Volumes(OperatorCase):
    def test_transposed_convolution(self):
        m = Model(13)
        x, w, bias = floats(2, 4, 2, 3, 2), floats(4, 3, 2, 2, 3), floats(6)
        strides, pads, group = (2, 1, 2), (1, 0, 0, 0, 1, 1), 2
        full = [(n - 1) * s + k for n, s, k in zip(x.shape[2:], strides, w.shape[2:])]
        want = np.zeros((2, 6, *full))
        for g, at in itertools.product(range(group), itertools.product(*map(range, x.shape[2:]))):
            part = np.einsum("nc,cfdhw->nfdhw", x[(slice(None), slice(2 * g, 2 * g + 2), *at)], w[2 * g:2 * g + 2])
            place = tuple(slice(a * s, a * s + k) for a, s, k in zip(at, strides, w.shape[2:]))
            want[(slice(None), slice(3 * g, 3 * g + 3), *place)] += part
        inner = tuple(slice(pads[i], full[i] - pads[3 + i]) for i in range(3))
        want = want[(..., *inner)] + bias[:, None, None, None]
        m.node("ConvTranspose", [m.input("x", x), m.constant(w), m.constant(bias)], f32(want), group=group,
               strides=list(strides), pads=list(pads))
        self.check(m)

    def test_windows_with_padding(self):
        m = Model(19)
        x = floats(1, 2, 4, 5, 6)
        v = m.input("x", x)
        pads = [(1, 0), (0, 1), (1, 1)]
        sums = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *pads])
        ones = np.pad(np.ones_like(x), [(0, 0), (0, 0), *pads])
        high = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=-np.inf)

        def windows(a):
            return np.lib.stride_tricks.sliding_window_view(a, (2, 3, 3), (2, 3, 4))[:, :, ::2, ::1, ::2]
        flat = [1, 0, 1, 0, 1, 1]
        axes = (-3, -2, -1)
        given = dict(kernel_shape=[2, 3, 3], strides=[2, 1, 2], pads=flat)
        m.node("AveragePool", [v], f32(windows(sums).sum(axes) / windows(ones).sum(axes)), **given)
        m.node("AveragePool", [v], f32(windows(sums).mean(axes)), count_include_pad=1, **given)
        m.node("MaxPool", [v], windows(high).max(axes), **given)
        # Without kernel_shape the weights tell, and the padding is the even one.
        w = floats(3, 2, 3, 3, 3)
        even = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1), (1, 1)])
        view = np.lib.stride_tricks.sliding_window_view(even, (3, 3, 3), (2, 3, 4))
        m.node("Conv", [v, m.constant(w)], f32(np.einsum("ncdhwijk,fcijk->nfdhw", view, w)), auto_pad="SAME_UPPER")
        self.check(m, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
