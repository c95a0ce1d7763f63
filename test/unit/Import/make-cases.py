#!/usr/bin/env python3
"""Writes the ONNX models of the import tests with inputs and expected outputs.

A developer's step; what it writes is committed. Needs numpy, onnx and
onnxruntime (expected outputs are ONNX Runtime's on the CPU, without graph
optimisation):

    python3 test/unit/Import/make-cases.py

Each model has many nodes on few inputs, and an output for each node.
cases/NAME.onnx, cases/NAME.inI.npy for input I, and cases/NAME.expected.npy: all
outputs, flattened, one after the other.
"""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

CASES = pathlib.Path(__file__).resolve().parent / "cases"


class Model:
    def __init__(self, name, opset, **inputs):
        self.name, self.opset, self.inputs = name, opset, inputs
        self.rng = np.random.default_rng(len(name) * 1000 + opset)
        self.nodes, self.weights, self.outputs = [], [], []

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def random(self, name, *shape):
        return self.constant(name, self.rng.uniform(-1, 1, shape).astype(np.float32))

    def node(self, name, op, inputs, output=True, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name + "_out"], name=name, **attributes))
        if output:
            self.outputs.append(name + "_out")
        return name + "_out"

    def build(self, shapes):
        def info(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph(
            self.nodes, self.name, [info(n, s) for n, s in self.inputs.items()],
            [info(n, s) for n, s in zip(self.outputs, shapes)], initializer=self.weights)
        model = helper.make_model(graph, ir_version=8,
                                  opset_imports=[helper.make_opsetid("", self.opset)])
        return model.SerializeToString(deterministic=True)

    @staticmethod
    def run(data, values):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return session.run(None, values)

    def write(self):
        values = {name: self.rng.uniform(-2, 2, shape).astype(np.float32)
                  for name, shape in self.inputs.items()}
        # Once without the outputs' shapes to find them.
        results = self.run(self.build([None] * len(self.outputs)), values)
        data = self.build([r.shape for r in results])
        onnx.checker.check_model(onnx.ModelProto.FromString(data))
        results = self.run(data, values)
        (CASES / f"{self.name}.onnx").write_bytes(data)
        for i, value in enumerate(values.values()):
            np.save(CASES / f"{self.name}.in{i}.npy", value)
        np.save(CASES / f"{self.name}.expected.npy",
                np.concatenate([r.astype(np.float32).ravel() for r in results]))
        print(f"{self.name}: {len(self.nodes)} nodes, {sum(r.size for r in results)} elements")


def convolution():
    m = Model("convolution", 13, image=(2, 4, 7, 6), signal=(1, 2, 9))
    m.random("w", 6, 4, 3, 2)
    m.random("bias", 6)
    m.node("plain", "Conv", ["image", "w"])
    m.node("bias_pads", "Conv", ["image", "w", "bias"], pads=[1, 0, 2, 1], kernel_shape=[3, 2])
    m.node("strides", "Conv", ["image", "w"], strides=[2, 3])
    m.node("dilations", "Conv", ["image", "w"], dilations=[2, 3], pads=[0, 1, 0, 1])
    m.node("same_upper", "Conv", ["image", "w"], auto_pad="SAME_UPPER", strides=[2, 2])
    m.node("same_lower", "Conv", ["image", "w"], auto_pad="SAME_LOWER")
    m.node("valid", "Conv", ["image", "w"], auto_pad="VALID")
    m.random("wg", 6, 2, 2, 2)
    m.node("groups", "Conv", ["image", "wg", "bias"], group=2, pads=[1, 1, 0, 0])
    m.random("wd", 4, 1, 3, 3)
    m.node("depthwise", "Conv", ["image", "wd"], group=4, pads=[1, 1, 1, 1], strides=[2, 1])
    m.random("wm", 8, 1, 3, 3)
    m.node("depthwise_multiplier", "Conv", ["image", "wm"], group=4)
    m.random("w1", 3, 2, 4)
    m.node("one_dimension", "Conv", ["signal", "w1"], pads=[2, 1], strides=[2], dilations=[2])
    m.write()


def pooling():
    m = Model("pooling", 19, image=(1, 3, 8, 7), signal=(2, 2, 9))
    for op, name in (("MaxPool", "max"), ("AveragePool", "average")):
        m.node(name + "_plain", op, ["image"], kernel_shape=[2, 3])
        m.node(name + "_strides", op, ["image"], kernel_shape=[3, 2], strides=[2, 3])
        m.node(name + "_pads", op, ["image"], kernel_shape=[3, 3], pads=[1, 2, 0, 1])
        m.node(name + "_ceil", op, ["image"], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        m.node(name + "_ceil_pads", op, ["image"], kernel_shape=[3, 2], strides=[3, 3],
               pads=[1, 1, 1, 1], ceil_mode=1)
        m.node(name + "_dilations", op, ["image"], kernel_shape=[3, 3], dilations=[2, 1],
               pads=[1, 1, 1, 1])
        m.node(name + "_same", op, ["image"], kernel_shape=[3, 3], strides=[2, 2],
               auto_pad="SAME_UPPER")
        m.node(name + "_one_dimension", op, ["signal"], kernel_shape=[3], strides=[2])
    m.node("average_include", "AveragePool", ["image"], kernel_shape=[3, 3],
           pads=[1, 1, 1, 1], count_include_pad=1)
    m.node("global_average", "GlobalAveragePool", ["image"])
    m.node("global_max", "GlobalMaxPool", ["image"])
    m.write()


def matmul():
    m = Model("matmul", 13, a=(3, 4), c=(4, 5), batch=(2, 3, 3, 4), vector=(4,))
    m.node("plain", "MatMul", ["a", "c"])
    m.node("one_right", "MatMul", ["batch", "c"])
    m.random("r4", 2, 3, 4, 2)
    m.node("batches", "MatMul", ["batch", "r4"])
    m.random("r3", 3, 4, 2)
    m.node("broadcast_batches", "MatMul", ["batch", "r3"])
    m.random("l1", 2, 1, 2, 3)
    m.node("broadcast_both", "MatMul", ["l1", "batch"])
    m.node("one_left", "MatMul", ["a", "r4"])
    m.node("row_vector", "MatMul", ["vector", "c"])
    m.node("column_vector", "MatMul", ["batch", "vector"])
    m.node("dot", "MatMul", ["vector", "vector"])
    m.random("b", 5)
    m.random("column", 3, 1)
    m.node("gemm", "Gemm", ["a", "c"])
    m.node("gemm_bias", "Gemm", ["a", "c", "b"], alpha=0.5, beta=2.0)
    m.node("gemm_column", "Gemm", ["a", "c", "column"])
    m.random("at", 4, 3)
    m.random("ct", 5, 4)
    m.node("gemm_transposed", "Gemm", ["at", "ct", "b"], transA=1, transB=1)
    m.write()


def elementwise():
    m = Model("elementwise", 13, x=(2, 3, 4), row=(4,), column=(3, 1), wide=(5, 1, 1, 4))
    for op in ("Add", "Sub", "Mul", "Div"):
        m.node(op.lower(), op, ["x", "x" if op == "Add" else "row"])
        m.node(op.lower() + "_column", op, ["column", "x"])
        m.node(op.lower() + "_wide", op, ["x", "wide"])
    m.constant("half", np.float32(0.5))
    m.constant("ones", np.full((1, 1, 1, 1), 3, np.float32))
    m.node("scalar", "Mul", ["x", "half"])
    m.node("scalar_rank", "Sub", ["ones", "x"])
    for op in ("Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Abs", "Neg", "Reciprocal"):
        m.node(op.lower(), op, ["x"])
    m.node("sqrt", "Sqrt", ["abs_out"])
    m.node("log", "Log", ["abs_out"])
    m.node("leaky", "LeakyRelu", ["x"], alpha=0.25)
    m.node("leaky_default", "LeakyRelu", ["x"])
    m.node("hard_sigmoid", "HardSigmoid", ["x"], alpha=0.3, beta=0.4)
    m.constant("low", np.float32(-0.5))
    m.constant("high", np.float32(0.75))
    m.node("clip", "Clip", ["x", "low", "high"])
    m.node("clip_high", "Clip", ["x", "", "high"])
    m.write()


def shapes():
    m = Model("shapes", 14, x=(2, 3, 4), y=(2, 5, 4))
    m.node("flatten", "Flatten", ["x"])
    m.node("flatten_0", "Flatten", ["x"], axis=0)
    m.node("flatten_end", "Flatten", ["x"], axis=-1)
    m.constant("shape", np.array([4, -1], np.int64))
    m.node("reshape", "Reshape", ["x", "shape"])
    m.constant("copy", np.array([0, -1, 2], np.int64))
    m.node("reshape_copy", "Reshape", ["x", "copy"])
    m.constant("zero", np.array([0, 0, 2, 2], np.int64))
    m.node("reshape_zero", "Reshape", ["x", "zero"])
    m.node("transpose", "Transpose", ["x"])
    m.node("transpose_perm", "Transpose", ["x"], perm=[1, 2, 0])
    m.node("concat", "Concat", ["x", "y", "x"], axis=1)
    m.node("concat_negative", "Concat", ["x", "x"], axis=-1)
    m.constant("axes", np.array([0, -1], np.int64))
    unsqueezed = m.node("unsqueeze", "Unsqueeze", ["x", "axes"])
    m.node("squeeze", "Squeeze", [unsqueezed, "axes"])
    m.node("squeeze_all", "Squeeze", [unsqueezed])
    # A shape computed from another, as exporters do.
    size = m.node("shape_of", "Shape", ["y"], output=False)
    joined = m.node("joined", "Concat", ["x", "y"], output=False, axis=1)
    m.constant("flat", np.array([-1], np.int64))
    m.node("reshape_flat", "Reshape", [joined, "flat"])
    m.node("reshape_shape", "Reshape", ["y", size])
    m.node("identity", "Identity", ["x"])
    value = m.node("constant", "Constant", [], output=False, value_float=1.5)
    m.node("constant_add", "Add", ["x", value])
    m.write()


def normalization(opset):
    m = Model(f"normalization{opset}", opset, x=(2, 3, 4), image=(2, 3, 2, 5))
    for i, name in enumerate(("scale", "bias", "mean")):
        m.random(name, 3)
    m.constant("variance", np.array([0.5, 1.5, 3.0], np.float32))
    m.node("batch_norm", "BatchNormalization", ["image", "scale", "bias", "mean", "variance"])
    m.node("batch_norm_epsilon", "BatchNormalization", ["x", "scale", "bias", "mean", "variance"],
           epsilon=0.25)
    for op in ("Softmax", "LogSoftmax"):
        m.node(op.lower(), op, ["x"])
        for axis in (0, 1, -1):
            m.node(f"{op.lower()}_{axis}", op, ["image"], axis=axis)
    if opset < 11:
        m.node("clip", "Clip", ["x"], min=-1.0, max=0.5)
    m.write()


def reductions(opset):
    m = Model(f"reductions{opset}", opset, x=(2, 3, 4))

    def reduce(name, op, axes=None, **attributes):
        if axes is None:
            m.node(name, op, ["x"], **attributes)
        elif opset >= 18 or (op == "ReduceSum" and opset >= 13):
            m.node(name, op, ["x", m.constant(name + "_axes", np.array(axes, np.int64))], **attributes)
        else:
            m.node(name, op, ["x"], axes=axes, **attributes)

    for op in ("ReduceMax", "ReduceMean", "ReduceSum"):
        reduce(op + "_all", op)
        reduce(op + "_scalar", op, keepdims=0)
        reduce(op + "_last", op, [-1], keepdims=0)
        reduce(op + "_two", op, [2, 0])
        reduce(op + "_two_dropped", op, [0, 1], keepdims=0)
    m.write()


def main():
    CASES.mkdir(exist_ok=True)
    convolution()
    pooling()
    matmul()
    elementwise()
    shapes()
    normalization(9)
    normalization(13)
    reductions(13)
    reductions(18)


if __name__ == "__main__":
    main()
