#!/usr/bin/env python3
"""The benchmark workloads by name; as a program it lists or writes them.

  workloads.py --list
  workloads.py NAME --output FILE [--element bf16|f16|f32] [--reduced]

A reduced workload has the same topology and few, small layers, so that its values can
be computed and compared in seconds.
"""

import argparse
import pathlib

import convolution
import gemm
import llama
import recommendation
import transformer

SMALL_LLAMA = {"features": 64, "count": 4, "kv_heads": 2, "hidden": 96}
SMALL_BERT = {"tokens": 24, "layers": 2, "features": 48, "count": 4}


def _models():
    """Name to (builder, arguments, arguments of the reduced size)."""
    small_stages = ((1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 1, 2))
    small_image = {"image": 32, "width": 8, "blocks": (1, 2, 1, 1), "classes": 10}
    models = {
        "resnet50_b1": (convolution.resnet50, {}, small_image),
        "resnet50_b8": (convolution.resnet50, {"batch": 8}, {**small_image, "batch": 2}),
        "mobilenetv2": (convolution.mobilenet_v2, {},
                        {"image": 32, "stages": small_stages, "last": 40, "classes": 10}),
        "unet_block": (convolution.unet_residual_block, {},
                       {"size": 8, "channels": 32, "embedding": 40, "groups": 4}),
        "vit_b16": (transformer.vit, {}, {"image": 32, "patch": 8, "layers": 2, "features": 48,
                                          "count": 4, "classes": 10}),
        "gpt2_prefill": (transformer.gpt2_prefill, {},
                         {"tokens": 20, "layers": 2, "features": 48, "count": 4, "words": 101}),
        "gpt2_decode": (transformer.gpt2_decode, {},
                        {"context": 20, "layers": 2, "features": 48, "count": 4, "words": 101}),
        "mixtral_layer_prefill": (llama.layer, llama.MIXTRAL,
                                  {**SMALL_LLAMA, "tokens": 16, "network": llama.experts}),
        "dlrm_b128": (recommendation.dlrm, {},
                      {"batch": 8, "tables": 5, "size": 16, "bottom": (32, 16), "top": (24, 1)}),
    }
    for tokens in (128, 384, 512):
        models[f"bert_base_{tokens}"] = (transformer.bert, {"tokens": tokens}, SMALL_BERT)
        models[f"bert_large_{tokens}"] = (
            transformer.bert,
            {"tokens": tokens, "layers": 24, "features": 1024, "count": 16}, SMALL_BERT)
    for name, sizes in (("llama7b", llama.LLAMA_7B), ("llama3_8b", llama.LLAMA3_8B)):
        small = dict(SMALL_LLAMA, kv_heads=4 if sizes["kv_heads"] == 32 else 2)
        models[f"{name}_layer_prefill"] = (llama.layer, sizes, {**small, "tokens": 20})
        for batch in (1, 8, 32):
            models[f"{name}_layer_decode_b{batch}"] = (
                llama.layer, {**sizes, "context": 2048, "batch": batch},
                {**small, "context": 20, "batch": min(batch, 2)})
    return models


MODELS = _models()
GEMMS = {gemm.name(*size): size for size in gemm.SIZES}


def names():
    return list(GEMMS) + list(MODELS)


def build(name, element="bf16", reduced=False):
    """The suffix and the bytes of a workload's file."""
    if name in GEMMS:
        size = tuple(min(extent, 40) for extent in GEMMS[name]) if reduced else GEMMS[name]
        return ".mlir", gemm.text(*size, element).encode()
    builder, sizes, small = MODELS[name]
    return ".onnx", builder(element, **(small if reduced else sizes)).bytes(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", nargs="?", choices=names(), metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--element", default="bf16", choices=["bf16", "f16", "f32"])
    parser.add_argument("--reduced", action="store_true", help="few, small layers")
    options = parser.parse_args()
    if options.list:
        print("\n".join(names()))
        return
    if not options.name or not options.output:
        parser.error("NAME and --output are needed, or --list")
    options.output.write_bytes(build(options.name, options.element, options.reduced)[1])


if __name__ == "__main__":
    main()
