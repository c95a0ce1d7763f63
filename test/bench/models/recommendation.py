"""DLRM (MLPerf sizes) after the look-up of the embedding rows."""

from graph import Graph


def dlrm(element, batch=128, tables=26, size=128, bottom=(512, 256, 128),
         top=(1024, 1024, 512, 256, 1)):
    """Bottom network, all pairs of products of the 27 vectors, top network."""
    g = Graph(element)
    x = g.input("dense", batch, 13)
    rows = g.input("embeddings", batch, tables, size)
    for features in bottom:
        x = g.unary("Relu", g.linear(x, features))
    vectors = g.concat([g.reshape(x, batch, 1, size), rows], 1)
    products = g.matmul(vectors, g.transpose(vectors, 0, 2, 1))
    # The strict lower triangle, row by row.
    pairs = [g.reshape(g.slice(g.slice(products, 1, row, row + 1), 2, 0, row), batch, row)
             for row in range(1, tables + 1)]
    x = g.concat([x] + pairs, 1)
    for features in top[:-1]:
        x = g.unary("Relu", g.linear(x, features))
    g.output(g.unary("Sigmoid", g.linear(x, top[-1])))
    return g
