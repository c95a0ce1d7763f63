"""Convolutional networks: ResNet-50, MobileNetV2 and a Stable Diffusion U-Net block.

Batch normalisation is folded into the convolutions, as exporters for inference do.
"""

from graph import Graph


def resnet50(element, batch=1, image=224, width=64, blocks=(3, 4, 6, 3), classes=1000):
    """ResNet-50 (v1.5: the 3x3 convolution of a block strides)."""
    g = Graph(element)
    x = g.input("image", batch, 3, image, image)
    x = g.unary("Relu", g.conv(x, width, 7, stride=2))
    shape = g.shape(x)
    x = g.node("MaxPool", [x], (*shape[:2], (shape[2] + 1) // 2, (shape[3] + 1) // 2),
               kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, count in enumerate(blocks):
        for block in range(count):
            with g.within(f"layer{stage + 1}", block):
                features = width << stage
                stride = 2 if stage and not block else 1
                y = g.unary("Relu", g.conv(x, features, 1))
                y = g.unary("Relu", g.conv(y, features, 3, stride=stride))
                y = g.conv(y, 4 * features, 1)
                if not block:
                    x = g.conv(x, 4 * features, 1, stride=stride)
                x = g.unary("Relu", g.binary("Add", y, x))
    return classify(g, x, classes)


def classify(g, x, classes):
    batch, features = g.shape(x)[:2]
    x = g.node("GlobalAveragePool", [x], (batch, features, 1, 1))
    g.output(g.linear(g.reshape(x, batch, features), classes))
    return g


def relu6(g, x):
    return g.node("Clip", [x, g.values(0.0), g.values(6.0)], g.shape(x))


# Expansion, features, repetitions, stride of the first.
MOBILENET_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet_v2(element, batch=1, image=224, stages=MOBILENET_V2, last=1280, classes=1000):
    g = Graph(element)
    x = g.input("image", batch, 3, image, image)
    x = relu6(g, g.conv(x, 32, 3, stride=2))
    for stage, (expansion, features, count, first_stride) in enumerate(stages):
        for block in range(count):
            with g.within(f"stage{stage}", block):
                stride = first_stride if not block else 1
                channels = g.shape(x)[1]
                y = relu6(g, g.conv(x, expansion * channels, 1)) if expansion > 1 else x
                hidden = g.shape(y)[1]
                y = relu6(g, g.conv(y, hidden, 3, stride=stride, groups=hidden))
                y = g.conv(y, features, 1)
                x = g.binary("Add", x, y) if g.shape(x) == g.shape(y) else y
    return classify(g, relu6(g, g.conv(x, last, 1)), classes)


def silu(g, x):
    return g.binary("Mul", x, g.unary("Sigmoid", x))


def group_norm(g, x, groups):
    batch, channels, height, width = g.shape(x)
    y = g.reshape(x, batch, groups, channels // groups * height * width)
    y = g.node("InstanceNormalization",
               [y, g.values([1.0] * groups), g.values([0.0] * groups)], g.shape(y), epsilon=1e-5)
    y = g.reshape(y, batch, channels, height, width)
    y = g.binary("Mul", y, g.weight(channels, 1, 1, fan_in=4))
    return g.binary("Add", y, g.weight(channels, 1, 1, fan_in=16))


def unet_residual_block(element, size=64, channels=320, embedding=1280, groups=32):
    """The first residual block of a Stable Diffusion 1.5 U-Net, time embedding included."""
    g = Graph(element)
    x, time = g.input("sample", 1, channels, size, size), g.input("time", 1, embedding)
    y = g.conv(silu(g, group_norm(g, x, groups)), channels, 3)
    shift = g.linear(silu(g, time), channels)
    y = g.binary("Add", y, g.reshape(shift, 1, channels, 1, 1))
    y = g.conv(silu(g, group_norm(g, y, groups)), channels, 3)
    g.output(g.binary("Add", x, y))
    return g
