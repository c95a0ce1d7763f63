#!/usr/bin/env python3
"""Trains the digits classifier and writes its model, inputs and predictions.

A developer's step: the files it writes are committed, and nothing in the build
or in the quick start runs it.

    python3 -m venv /tmp/digits && /tmp/digits/bin/pip install \\
        numpy==2.4.6 scikit-learn==1.9.1 onnx==1.23.2 onnxruntime==1.32.0
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 /tmp/digits/bin/python tools/train-digits.py

It writes
  third_party/digits/inputs/0.npy       float32 [360, 1, 8, 8], the held-out images, 0..1
  third_party/digits/inputs/labels.npy  int64 [360], their digits
  test/e2e/models/digits.onnx           the trained model, batch dimension "N"
  test/e2e/models/digits.expected.npy   float32 [360, 10], ONNX Runtime's outputs on the CPU

The split, the initial weights and the order of the batches come from fixed
seeds, so a run is repeatable on one machine with one version of NumPy (matrix
products may round differently elsewhere).

The network, in NCHW:
  conv 3x3 1->16, batch norm, relu, conv 3x3 16->32, batch norm, relu, max pool 2,
  conv 3x3 32->32, batch norm, relu, average pool 2, flatten, 128->64, relu,
  64->10, softmax.
"""

import argparse
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 20240
HELD_OUT = 360
EPSILON = 1e-5
MOMENTUM = 0.9


def load_split():
    """The 1,797 images in a stratified split: training part and held-out part."""
    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[:, None]
    labels = data.target.astype(np.int64)
    return train_test_split(
        images, labels, test_size=HELD_OUT, random_state=SEED, stratify=labels)


class Layer:
    """A layer with parameters `params` and their gradients `grads`."""

    def __init__(self):
        self.params, self.grads = {}, {}


class Conv(Layer):
    """3x3 convolution, padding 1; no bias, since a batch norm follows."""

    def __init__(self, rng, inputs, outputs):
        super().__init__()
        scale = np.sqrt(2.0 / (inputs * 9))
        self.params["weight"] = rng.normal(0, scale, (outputs, inputs, 3, 3))

    def forward(self, x, training):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        n, c, h, w = x.shape
        self.shape = x.shape
        self.columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 9)
        out = self.columns @ self.params["weight"].reshape(-1, c * 9).T
        return out.reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, grad):
        n, c, h, w = self.shape
        weight = self.params["weight"]
        rows = grad.transpose(0, 2, 3, 1).reshape(n * h * w, -1)
        self.grads["weight"] = (rows.T @ self.columns).reshape(weight.shape)
        columns = (rows @ weight.reshape(weight.shape[0], -1)).reshape(n, h, w, c, 3, 3)
        padded = np.zeros((n, c, h + 2, w + 2))
        for i in range(3):
            for j in range(3):
                padded[:, :, i:i + h, j:j + w] += columns[..., i, j].transpose(0, 3, 1, 2)
        return padded[:, :, 1:-1, 1:-1]


class BatchNorm(Layer):
    def __init__(self, channels):
        super().__init__()
        self.params["scale"] = np.ones(channels)
        self.params["bias"] = np.zeros(channels)
        self.mean, self.variance = np.zeros(channels), np.ones(channels)

    def forward(self, x, training):
        if training:
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean = MOMENTUM * self.mean + (1 - MOMENTUM) * mean
            self.variance = MOMENTUM * self.variance + (1 - MOMENTUM) * variance
        else:
            mean, variance = self.mean, self.variance
        self.inverse = 1 / np.sqrt(variance + EPSILON)[:, None, None]
        self.normal = (x - mean[:, None, None]) * self.inverse
        return (self.normal * self.params["scale"][:, None, None]
                + self.params["bias"][:, None, None])

    def backward(self, grad):
        axes = (0, 2, 3)
        self.grads["scale"] = (grad * self.normal).sum(axes)
        self.grads["bias"] = grad.sum(axes)
        grad = grad * self.params["scale"][:, None, None]
        return self.inverse * (grad - grad.mean(axes, keepdims=True)
                               - self.normal * (grad * self.normal).mean(axes, keepdims=True))


class Relu(Layer):
    def forward(self, x, training):
        self.mask = x > 0
        return x * self.mask

    def backward(self, grad):
        return grad * self.mask


class Pool(Layer):
    """2x2 pooling with stride 2, maximum or average."""

    def __init__(self, maximum):
        super().__init__()
        self.maximum = maximum

    def forward(self, x, training):
        n, c, h, w = x.shape
        tiles = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5)
        tiles = tiles.reshape(n, c, h // 2, w // 2, 4)
        self.choice = tiles.argmax(-1)
        return tiles.max(-1) if self.maximum else tiles.mean(-1)

    def backward(self, grad):
        n, c, h, w = grad.shape
        if self.maximum:
            tiles = np.zeros(grad.shape + (4,))
            np.put_along_axis(tiles, self.choice[..., None], grad[..., None], -1)
        else:
            tiles = np.repeat(grad[..., None] / 4, 4, -1)
        tiles = tiles.reshape(n, c, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5)
        return tiles.reshape(n, c, 2 * h, 2 * w)


class Flatten(Layer):
    def forward(self, x, training):
        self.shape = x.shape
        return x.reshape(x.shape[0], -1)

    def backward(self, grad):
        return grad.reshape(self.shape)


class Dense(Layer):
    def __init__(self, rng, inputs, outputs):
        super().__init__()
        self.params["weight"] = rng.normal(0, np.sqrt(2.0 / inputs), (outputs, inputs))
        self.params["bias"] = np.zeros(outputs)

    def forward(self, x, training):
        self.x = x
        return x @ self.params["weight"].T + self.params["bias"]

    def backward(self, grad):
        self.grads["weight"] = grad.T @ self.x
        self.grads["bias"] = grad.sum(0)
        return grad @ self.params["weight"]


def build_network(rng):
    return [
        ("conv1", Conv(rng, 1, 16)), ("norm1", BatchNorm(16)), ("relu1", Relu()),
        ("conv2", Conv(rng, 16, 32)), ("norm2", BatchNorm(32)), ("relu2", Relu()),
        ("maxpool", Pool(True)),
        ("conv3", Conv(rng, 32, 32)), ("norm3", BatchNorm(32)), ("relu3", Relu()),
        ("avgpool", Pool(False)), ("flatten", Flatten()),
        ("hidden", Dense(rng, 128, 64)), ("relu4", Relu()), ("classifier", Dense(rng, 64, 10)),
    ]


def forward(network, x, training=False):
    for _, layer in network:
        x = layer.forward(x, training)
    return x


def shifted(rng, images):
    """The images moved by up to one pixel, filled with zeros."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.empty_like(images)
    for i, (y, x) in enumerate(rng.integers(0, 3, (len(images), 2))):
        out[i] = padded[i, :, y:y + 8, x:x + 8]
    return out


def train(images, labels, epochs, batch=48, rate=2e-3, decay=1e-4):
    """Adam with a cosine schedule, in double precision."""
    rng = np.random.default_rng(SEED)
    network = build_network(rng)
    moments, step = {}, 0
    steps = epochs * (len(images) // batch)
    for epoch in range(epochs):
        order, total = rng.permutation(len(images)), 0.0
        for start in range(0, len(images) - batch + 1, batch):
            chosen = order[start:start + batch]
            x = images[chosen].astype(np.float64)
            moved = rng.random(batch) < 0.5
            x[moved] = shifted(rng, x[moved])
            logits = forward(network, x, training=True)
            exp = np.exp(logits - logits.max(1, keepdims=True))
            grad = exp / exp.sum(1, keepdims=True)
            total -= np.log(grad[np.arange(batch), labels[chosen]]).sum()
            grad[np.arange(batch), labels[chosen]] -= 1
            grad /= batch
            for _, layer in reversed(network):
                grad = layer.backward(grad)
            step += 1
            now = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            for name, layer in network:
                for key, value in layer.params.items():
                    gradient = layer.grads[key]
                    if key == "weight":
                        gradient = gradient + decay * value
                    first, second = moments.get((name, key), (0.0, 0.0))
                    first = 0.9 * first + 0.1 * gradient
                    second = 0.999 * second + 0.001 * gradient * gradient
                    moments[name, key] = first, second
                    value -= now * (first / (1 - 0.9 ** step)) / (
                        np.sqrt(second / (1 - 0.999 ** step)) + 1e-8)
        print(f"epoch {epoch + 1}: loss {total / len(images):.4f}", flush=True)
    return network


def export(network):
    """The network as an ONNX model: opset 17, batch norms as nodes of their own."""
    nodes, weights, value = [], [], "image"

    def weight(name, array):
        weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(op, name, inputs, output=None, **attributes):
        output = output or name + "_out"
        nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    for name, layer in network:
        if isinstance(layer, Conv):
            value = node("Conv", name, [value, weight(name + ".weight", layer.params["weight"])],
                         kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        elif isinstance(layer, BatchNorm):
            value = node("BatchNormalization", name, [
                value, weight(name + ".scale", layer.params["scale"]),
                weight(name + ".bias", layer.params["bias"]),
                weight(name + ".mean", layer.mean),
                weight(name + ".variance", layer.variance)], epsilon=EPSILON)
        elif isinstance(layer, Relu):
            value = node("Relu", name, [value])
        elif isinstance(layer, Pool):
            value = node("MaxPool" if layer.maximum else "AveragePool", name, [value],
                         kernel_shape=[2, 2], strides=[2, 2])
        elif isinstance(layer, Flatten):
            value = node("Flatten", name, [value], axis=1)
        elif isinstance(layer, Dense):
            value = node("Gemm", name, [
                value, weight(name + ".weight", layer.params["weight"]),
                weight(name + ".bias", layer.params["bias"])], transB=1)
    node("Softmax", "softmax", [value], output="probabilities", axis=1)

    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])],
        initializer=weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                              producer_name="tessera train-digits", ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--root", type=pathlib.Path, default=root,
                        help="the checkout to write into (default: this one)")
    options = parser.parse_args()

    train_images, held_images, train_labels, held_labels = load_split()
    network = train(train_images, train_labels, options.epochs)
    model = export(network)

    models = options.root / "test/e2e/models"
    inputs = options.root / "third_party/digits/inputs"
    models.mkdir(parents=True, exist_ok=True)
    inputs.mkdir(parents=True, exist_ok=True)
    np.save(inputs / "0.npy", np.ascontiguousarray(held_images))
    np.save(inputs / "labels.npy", held_labels)
    (models / "digits.onnx").write_bytes(model.SerializeToString(deterministic=True))

    session = onnxruntime.InferenceSession(
        str(models / "digits.onnx"), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"image": held_images})
    np.save(models / "digits.expected.npy", expected)
    accuracy = (expected.argmax(1) == held_labels).mean()
    gap = np.sort(expected, 1)
    print(f"accuracy on {len(held_labels)} held-out images: {accuracy:.4f}; "
          f"smallest lead of a prediction: {(gap[:, -1] - gap[:, -2]).min():.5f}")


if __name__ == "__main__":
    main()
