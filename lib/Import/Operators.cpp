//===- Operators.cpp - The ONNX operators that can be imported ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include <limits>

using namespace tessera;
using namespace tessera::onnx;

static constexpr size_t any = std::numeric_limits<size_t>::max();

// In alphabetical order. The attributes are those of every version from
// operator set 7 on; an import function checks what they mean in its version.
static constexpr Operator operators[] = {
    {"Abs", 1, 1, 1, "", importUnary},
    {"Add", 2, 2, 1, "", importBinary},
    {"AveragePool", 1, 1, 1,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
     importAveragePool},
    {"BatchNormalization", 5, 5, 1, "epsilon momentum spatial training_mode",
     importBatchNormalization},
    {"Clip", 1, 3, 1, "max min", importClip},
    {"Concat", 1, any, 1, "axis", importConcat},
    {"Constant", 0, 0, 1, "value value_float value_floats value_int value_ints",
     importConstant},
    {"Conv", 2, 3, 1, "auto_pad dilations group kernel_shape pads strides",
     importConv},
    {"Div", 2, 2, 1, "", importBinary},
    {"Dropout", 1, 3, 1, "ratio seed", importIdentity},
    {"Erf", 1, 1, 1, "", importUnary},
    {"Exp", 1, 1, 1, "", importUnary},
    {"Flatten", 1, 1, 1, "axis", importFlatten},
    {"Gemm", 2, 3, 1, "alpha beta transA transB", importGemm},
    {"GlobalAveragePool", 1, 1, 1, "", importGlobalAveragePool},
    {"GlobalMaxPool", 1, 1, 1, "", importGlobalMaxPool},
    {"HardSigmoid", 1, 1, 1, "alpha beta", importHardSigmoid},
    {"Identity", 1, 1, 1, "", importIdentity},
    {"LeakyRelu", 1, 1, 1, "alpha", importLeakyRelu},
    {"Log", 1, 1, 1, "", importUnary},
    {"LogSoftmax", 1, 1, 1, "axis", importLogSoftmax},
    {"MatMul", 2, 2, 1, "", importMatMul},
    {"MaxPool", 1, 1, 1,
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides",
     importMaxPool},
    {"Mul", 2, 2, 1, "", importBinary},
    {"Neg", 1, 1, 1, "", importUnary},
    {"Reciprocal", 1, 1, 1, "", importUnary},
    {"ReduceMax", 1, 2, 1, "axes keepdims noop_with_empty_axes",
     importReduction},
    {"ReduceMean", 1, 2, 1, "axes keepdims noop_with_empty_axes",
     importReduction},
    {"ReduceSum", 1, 2, 1, "axes keepdims noop_with_empty_axes",
     importReduction},
    {"Relu", 1, 1, 1, "", importUnary},
    {"Reshape", 2, 2, 1, "allowzero", importReshape},
    {"Shape", 1, 1, 1, "end start", importShape},
    {"Sigmoid", 1, 1, 1, "", importUnary},
    {"Softmax", 1, 1, 1, "axis", importSoftmax},
    {"Sqrt", 1, 1, 1, "", importUnary},
    {"Squeeze", 1, 2, 1, "axes", importSqueeze},
    {"Sub", 2, 2, 1, "", importBinary},
    {"Tanh", 1, 1, 1, "", importUnary},
    {"Transpose", 1, 1, 1, "perm", importTranspose},
    {"Unsqueeze", 1, 2, 1, "axes", importUnsqueeze},
};

const Operator *tessera::onnx::findOperator(llvm::StringRef name) {
  for (const Operator &op : operators)
    if (op.name == name)
      return &op;
  return nullptr;
}

std::string tessera::onnx::knownOperators() {
  std::string names;
  for (const Operator &op : operators)
    names += (names.empty() ? "" : ", ") + op.name.str();
  return names;
}
