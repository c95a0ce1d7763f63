//===- ImportLoss.cpp - ONNX losses ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// The loss of logarithms of probabilities [N, C, ...] for the classes
/// [N, ...]: each minus the logarithm at its class, times that class' weight.
static Status importLoss(NodeImport &node, Expansion &e,
                         const std::string &logarithms) {
  const std::vector<std::string> &inputs = node.node.inputs;
  TESSERA_ASSIGN_OR_RETURN(std::string reduction,
                           node.stringAttribute("reduction", "mean"));
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    return NodeImport::error(fmt::format(
        "attribute 'reduction' is '{}'; accepted are none, mean and sum",
        reduction));
  std::vector<int64_t> shape = e.shape(logarithms),
                       classes = e.shape(inputs[1]);
  TESSERA_RETURN_IF_ERROR(e.status);
  std::vector<int64_t> expected = shape;
  if (shape.size() >= 2)
    expected.erase(expected.begin() + 1);
  if (shape.size() < 2 || classes != expected)
    return NodeImport::error(
        fmt::format("scores {} and classes {} do not fit each other",
                    shapeText(shape), shapeText(classes)));
  int32_t type = node.inputType(0);
  std::string target = inputs[1], ignored;
  if (node.hasAttribute("ignore_index")) {
    TESSERA_ASSIGN_OR_RETURN(int64_t index,
                             node.intAttribute("ignore_index", 0));
    int32_t classType = node.inputType(1);
    std::string number =
        node.constant(tensorOf(classType, {}, ArrayRef<int64_t>{index}));
    ignored = e("Equal", {target, number});
    target = e("Where",
               {ignored,
                node.constant(tensorOf(classType, {}, ArrayRef<int64_t>{0})),
                target});
  }
  std::vector<int64_t> wide = classes;
  wide.insert(wide.begin() + 1, 1);
  std::string picked =
      e.reshape(e("GatherElements", {logarithms, e.reshape(target, wide)},
                  {{"axis", attributeOf(int64_t(1))}}),
                classes);
  std::string loss = e("Neg", {picked}), weights;
  if (node.hasInput(2))
    weights = e("Gather", {inputs[2], target});
  if (!ignored.empty()) {
    std::string zero = e.scalar(0, type);
    std::string own = weights.empty() ? e.scalar(1, type) : weights;
    weights = e("Where", {ignored, zero, own});
  }
  if (!weights.empty())
    loss = e("Mul", {loss, weights});
  NewAttributes whole{{"keepdims", attributeOf(int64_t(0))}};
  if (reduction == "sum" || (reduction == "mean" && !weights.empty()))
    loss = e("ReduceSum", {loss}, whole);
  else if (reduction == "mean")
    loss = e("ReduceMean", {loss}, whole);
  if (reduction == "mean" && !weights.empty()) {
    // As many weights as losses, whatever they broadcast from.
    if (e.shape(weights) != classes)
      weights = e("Expand", {weights, e.integers(classes)});
    loss = e("Div", {loss, e("ReduceSum", {weights}, whole)});
  }
  e.result(0, loss);
  return e.status;
}

Status tessera::onnx::importNegativeLogLikelihood(NodeImport &node) {
  Expansion e(node);
  return importLoss(node, e, node.node.inputs[0]);
}

Status tessera::onnx::importSoftmaxCrossEntropy(NodeImport &node) {
  Expansion e(node);
  std::string logarithms = e("LogSoftmax", {node.node.inputs[0]},
                             {{"axis", attributeOf(int64_t(1))}});
  e.result(1, logarithms);
  return importLoss(node, e, logarithms);
}
