//===- ShapeInputs.cpp - Inputs of an ONNX model that decide shapes -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShapeInputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tessera;
using namespace tessera::onnx;

uint32_t tessera::onnx::decidingOperands(llvm::StringRef op) {
  return llvm::StringSwitch<uint32_t>(op)
      .Cases({"BlackmanWindow", "ConstantOfShape", "HammingWindow",
              "HannWindow", "If", "NonZero"},
             1)
      .Cases({"AffineGrid", "CenterCropPad", "Compress", "CumProd", "CumSum",
              "Expand", "OneHot", "Reshape", "Split", "Squeeze", "Tile", "TopK",
              "Trilu", "Unsqueeze"},
             2)
      .Cases({"Col2Im", "DFT"}, 6)
      .Case("Loop", 3)
      .Case("Upsample", 2)
      .Case("Dropout", 6)
      .Case("MaxUnpool", 4)
      .Case("MelWeightMatrix", 31)
      .Case("Range", 7)
      .Case("Pad", 14)
      .Case("Resize", 14)
      .Case("GroupQueryAttention", 64)
      .Case("STFT", 10)
      .Case("Slice", 30)
      .StartsWith("Reduce", 2)
      .Default(0);
}

/// Adds the values that decide shapes in the nodes to `deciding`, which holds
/// those that do so after them.
static void addDeciding(const std::vector<Node> &nodes,
                        std::set<std::string> &deciding) {
  // Backwards from the operands: nodes come after those that they depend on.
  for (const Node &node : llvm::reverse(nodes)) {
    uint32_t mask = decidingOperands(node.opType);
    bool decides = llvm::any_of(node.outputs, [&](const std::string &name) {
      return deciding.count(name) != 0;
    });
    for (const auto &[name, attribute] : node.attributes)
      if (attribute.graphValue) {
        if (decides)
          for (const ValueInfo &output : attribute.graphValue->outputs)
            deciding.insert(output.name);
        addDeciding(attribute.graphValue->nodes, deciding);
      }
    // A shape is known whatever the elements are.
    decides &= node.opType != "Shape" && node.opType != "Size";
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (decides || (i < 32 && mask >> i & 1))
        deciding.insert(node.inputs[i]);
  }
}

std::set<std::string>
tessera::onnx::inputsThatDecideShapes(const Model &model) {
  std::set<std::string> deciding;
  addDeciding(model.nodes, deciding);
  std::set<std::string> inputs;
  for (const ValueInfo &input : model.inputs)
    if (deciding.count(input.name))
      inputs.insert(input.name);
  return inputs;
}

std::shared_ptr<const Tensor>
tessera::onnx::givenValue(const ValueInfo &input, uint32_t position,
                          llvm::ArrayRef<int64_t> shape,
                          const ImportOptions &options) {
  const std::string *bytes = nullptr;
  if (auto named = options.inputBytes.find(input.name);
      named != options.inputBytes.end())
    bytes = &named->second;
  else if (auto placed = options.inputBytesByPosition.find(position);
           placed != options.inputBytesByPosition.end())
    bytes = &placed->second;
  if (!bytes)
    return nullptr;
  Tensor tensor;
  tensor.name = input.name;
  tensor.elementType = input.elementType;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.data = std::make_shared<const std::string>(*bytes);
  uint64_t width = elementBytes(input.elementType);
  if (width == 0 || bytes->size() != tensor.elementCount() * width)
    return nullptr;
  return std::make_shared<const Tensor>(std::move(tensor));
}
