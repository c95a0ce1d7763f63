"""Encoders and GPT-2: layers with biases, layer normalisation and GELU.

Models begin after the look-up of token embeddings, which moves a few rows and
multiplies nothing.
"""

import numpy as np

from graph import Graph


def layer_norm(g, x, epsilon=1e-5):
    features = g.shape(x)[-1]
    return g.node("LayerNormalization",
                  [x, g.values(np.ones(features)), g.weight(features, fan_in=16)],
                  g.shape(x), axis=-1, epsilon=epsilon)


def gelu(g, x):
    """With the error function, as the exporters of encoders write it."""
    y = g.unary("Erf", g.binary("Div", x, g.values(np.sqrt(2.0))))
    y = g.binary("Mul", x, g.binary("Add", y, g.values(1.0)))
    return g.binary("Mul", y, g.values(0.5))


def gelu_tanh(g, x):
    """With tanh, as GPT-2 has it."""
    cube = g.binary("Mul", g.binary("Mul", x, x), x)
    inner = g.binary("Add", x, g.binary("Mul", cube, g.values(0.044715)))
    y = g.unary("Tanh", g.binary("Mul", inner, g.values(np.sqrt(2.0 / np.pi))))
    y = g.binary("Add", y, g.values(1.0))
    return g.binary("Mul", g.binary("Mul", x, y), g.values(0.5))


def heads(g, x, count):
    """batch x tokens x features to batch x heads x tokens x size."""
    batch, tokens, features = g.shape(x)
    return g.transpose(g.reshape(x, batch, tokens, count, features // count), 0, 2, 1, 3)


def attend(g, query, key, value, mask=None):
    """Softmax(query key^T / sqrt(size) + mask) value, with the heads joined again."""
    size = g.shape(query)[-1]
    scores = g.matmul(query, g.transpose(key, 0, 1, 3, 2))
    scores = g.binary("Mul", scores, g.values(1 / np.sqrt(size)))
    if mask is not None:
        scores = g.binary("Add", scores, mask)
    return g.matmul(g.softmax(scores), value)


def join(g, x):
    batch, count, tokens, size = g.shape(x)
    return g.reshape(g.transpose(x, 0, 2, 1, 3), batch, tokens, count * size)


def causal_mask(g, tokens):
    return g.values(np.triu(np.full((tokens, tokens), -1e9, np.float32), 1)[None, None])


def feed_forward(g, x, hidden, activation):
    features = g.shape(x)[-1]
    return g.linear(activation(g, g.linear(x, hidden)), features)


def self_attention(g, x, count, mask=None):
    features = g.shape(x)[-1]
    query, key, value = (heads(g, g.linear(x, features), count) for _ in range(3))
    return g.linear(join(g, attend(g, query, key, value, mask)), features)


def bert(element, tokens=128, layers=12, features=768, count=12, batch=1):
    """Post-norm encoder: BERT-base; 24 layers of 1,024 features and 16 heads are BERT-large."""
    g = Graph(element)
    x = layer_norm(g, g.input("embeddings", batch, tokens, features), 1e-12)
    for layer in range(layers):
        with g.within("encoder", layer):
            x = layer_norm(g, g.binary("Add", x, self_attention(g, x, count)), 1e-12)
            x = layer_norm(g, g.binary("Add", x, feed_forward(g, x, 4 * features, gelu)), 1e-12)
    g.output(x)
    return g


def pre_norm_layer(g, x, count, activation, mask=None):
    x = g.binary("Add", x, self_attention(g, layer_norm(g, x), count, mask))
    return g.binary("Add", x, feed_forward(g, layer_norm(g, x), 4 * g.shape(x)[-1], activation))


def vit(element, image=224, patch=16, layers=12, features=768, count=12, classes=1000):
    """ViT-B/16: patches by a convolution, a class token, pre-norm encoder, head."""
    g = Graph(element)
    x = g.conv(g.input("image", 1, 3, image, image), features, patch, stride=patch, pad=0)
    patches = g.shape(x)[2] * g.shape(x)[3]
    x = g.transpose(g.reshape(x, 1, features, patches), 0, 2, 1)
    x = g.concat([g.weight(1, 1, features, fan_in=1), x], 1)
    x = g.binary("Add", x, g.weight(1, patches + 1, features, fan_in=16))
    for layer in range(layers):
        with g.within("encoder", layer):
            x = pre_norm_layer(g, x, count, gelu)
    x = g.reshape(g.slice(layer_norm(g, x), 1, 0, 1), 1, features)
    g.output(g.linear(x, classes))
    return g


def gpt2_prefill(element, tokens=1024, layers=12, features=768, count=12, words=50257):
    g = Graph(element)
    x = g.input("embeddings", 1, tokens, features)
    mask = causal_mask(g, tokens)
    for layer in range(layers):
        with g.within("h", layer):
            x = pre_norm_layer(g, x, count, gelu_tanh, mask)
    g.output(g.linear(layer_norm(g, x), words, bias=False))
    return g


def gpt2_decode(element, context=1024, layers=12, features=768, count=12, words=50257):
    """One token. The caches hold `context` entries, the token's own included; the new
    key and value are results, to be written into them by the caller."""
    g = Graph(element)
    x = g.input("embedding", 1, 1, features)
    for layer in range(layers):
        with g.within("h", layer):
            keys, values = (g.input(f"{kind}_cache_{layer}", 1, count, context, features // count)
                            for kind in ("key", "value"))
            normal = layer_norm(g, x)
            query, key, value = (heads(g, g.linear(normal, features), count) for _ in range(3))
            g.output(key)
            g.output(value)
            mixed = join(g, attend(g, query, keys, values))
            x = g.binary("Add", x, g.linear(mixed, features))
            x = g.binary("Add", x, feed_forward(g, layer_norm(g, x), 4 * features, gelu_tanh))
    g.output(g.linear(layer_norm(g, x), words, bias=False))
    return g
