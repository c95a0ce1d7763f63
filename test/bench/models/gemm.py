"""Matrix products as linalg text, with sums in f32."""

SIZES = [(n, n, n) for n in (128, 256, 512, 1024, 2048, 4096)]
SIZES += [(m, 4096, 4096) for m in (1, 8, 32, 128)]
SIZES += [(512, 768, 3072), (4096, 64, 4096), (127, 509, 1021)]


def name(m, n, k):
    return f"gemm_{m}x{n}x{k}"


def text(m, n, k, element):
    """A module whose main multiplies MxK by KxN."""
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}xf32>"
    return f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %result = linalg.matmul ins(%a, %b : {a}, {b}) outs(%start : {c}) -> {c}
  return %result : {c}
}}
"""


def models(element):
    """Pairs of a name and a module's text, smallest first."""
    for size in sorted(SIZES, key=lambda s: s[0] * s[1] * s[2]):
        yield name(*size), text(*size, element)
