//===- ImportVolume.cpp - ONNX windows over three dimensions --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution or pooling over three dimensions is one over two for each layer
// of the window's depth, the layers combined.
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {

class Volume {
public:
  explicit Volume(NodeImport &node)
      : node(node), e(node), op(node.node.opType) {}
  Status import();

private:
  Status readAttributes();
  /// Layer `number` of the windows, as a batch of images.
  std::string layer(const std::string &padded, int64_t number);
  std::string ofLayer(const std::string &images, int64_t number);

  NodeImport &node;
  Expansion e;
  StringRef op;
  std::vector<int64_t> shape, kernel, strides, dilations, pads;
  NewAttributes flat; ///< The attributes of the operator over images.
  int64_t depth = 0;  ///< Of the result.
};

} // namespace

Status Volume::readAttributes() {
  shape = e.shape(node.node.inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  std::vector<int64_t> weights;
  if (op == "Conv") {
    weights = e.shape(node.node.inputs[1]);
    TESSERA_RETURN_IF_ERROR(e.status);
    if (weights.size() != 5)
      return NodeImport::error(
          fmt::format("the weights have the shape {}; accepted are 5 "
                      "dimensions here",
                      shapeText(weights)));
  }
  auto list = [&](StringRef name, size_t count, int64_t byDefault,
                  std::vector<int64_t> &result) {
    auto given = node.intsAttribute(name);
    if (!given.ok())
      return given.status();
    result = *given ? **given : std::vector<int64_t>(count, byDefault);
    int64_t least = name == "pads" ? 0 : 1;
    for (int64_t value : result)
      if (value < least || value > (int64_t(1) << 30))
        return NodeImport::error(fmt::format(
            "attribute '{}' has the value {}; accepted are {} to 2^30",
            name.str(), value, least));
    return result.size() == count
               ? Status::success()
               : NodeImport::error(fmt::format(
                     "attribute '{}' has {} values; accepted are {} here",
                     name.str(), result.size(), count));
  };
  TESSERA_RETURN_IF_ERROR(list("kernel_shape", 3, 0, kernel));
  TESSERA_RETURN_IF_ERROR(list("strides", 3, 1, strides));
  TESSERA_RETURN_IF_ERROR(list("dilations", 3, 1, dilations));
  TESSERA_RETURN_IF_ERROR(list("pads", 6, 0, pads));
  if (op == "Conv")
    kernel.assign(weights.end() - 3, weights.end());
  TESSERA_ASSIGN_OR_RETURN(std::string automatic,
                           node.stringAttribute("auto_pad", "NOTSET"));
  TESSERA_ASSIGN_OR_RETURN(bool ceil, node.flagAttribute("ceil_mode", false));
  TESSERA_ASSIGN_OR_RETURN(bool countPads,
                           node.flagAttribute("count_include_pad", false));
  bool isPadded = llvm::any_of(pads, [](int64_t pad) { return pad != 0; });
  if ((automatic != "NOTSET" && automatic != "VALID") || ceil ||
      (op == "AveragePool" && isPadded && !countPads))
    return {StatusCode::Unsupported,
            "has three spatial dimensions with auto_pad, ceil_mode or an "
            "average that leaves out the padding; accepted are pads"};
  int64_t reach = (kernel[0] - 1) * dilations[0] + 1;
  int64_t room = shape[2] + pads[0] + pads[3] - reach;
  if (room < 0)
    return NodeImport::error(fmt::format(
        "a window reaches over {} layers; there are {}", reach, room + reach));
  depth = room / strides[0] + 1;
  auto last = [](const std::vector<int64_t> &from) {
    return std::vector<int64_t>(from.begin() + 1, from.end());
  };
  flat["kernel_shape"] = attributeOf(last(kernel));
  flat["strides"] = attributeOf(last(strides));
  flat["dilations"] = attributeOf(last(dilations));
  flat["pads"] =
      attributeOf(std::vector<int64_t>{pads[1], pads[2], pads[4], pads[5]});
  if (op == "Conv") {
    TESSERA_ASSIGN_OR_RETURN(int64_t group, node.intAttribute("group", 1));
    flat["group"] = attributeOf(group);
  }
  if (op == "AveragePool")
    flat["count_include_pad"] = attributeOf(int64_t(1));
  return Status::success();
}

std::string Volume::layer(const std::string &padded, int64_t number) {
  int64_t begin = number * dilations[0];
  std::string layers =
      e("Slice", {padded, e.integers(begin),
                  e.integers(begin + (depth - 1) * strides[0] + 1),
                  e.integers(2), e.integers(strides[0])});
  return e.reshape(e.transpose(layers, {0, 2, 1, 3, 4}),
                   {shape[0] * depth, shape[1], shape[3], shape[4]});
}

std::string Volume::ofLayer(const std::string &images, int64_t number) {
  if (op != "Conv")
    return e(op, {images}, flat);
  std::string weights = e("Gather", {node.node.inputs[1], e.number(number)},
                          {{"axis", attributeOf(int64_t(2))}});
  return e("Conv", {images, weights}, flat);
}

Status Volume::import() {
  TESSERA_RETURN_IF_ERROR(readAttributes());
  std::string padded = node.node.inputs[0];
  if (pads[0] != 0 || pads[3] != 0) {
    std::vector<int64_t> amounts(10, 0);
    amounts[2] = pads[0];
    amounts[7] = pads[3];
    double value =
        op == "MaxPool" ? -std::numeric_limits<double>::infinity() : 0;
    padded = e("Pad", {padded, e.integers(amounts),
                       e.scalar(value, node.inputType(0))});
  }
  std::string result;
  for (int64_t number = 0; number < kernel[0] && e.ok(); ++number) {
    std::string own = ofLayer(layer(padded, number), number);
    result =
        number == 0 ? own : e(op == "MaxPool" ? "Max" : "Add", {result, own});
  }
  if (op == "AveragePool")
    result = e("Div", {result, e.scalar(static_cast<double>(kernel[0]),
                                        node.inputType(0))});
  std::vector<int64_t> images = e.shape(result);
  TESSERA_RETURN_IF_ERROR(e.status);
  result = e.transpose(
      e.reshape(result, {shape[0], depth, images[1], images[2], images[3]}),
      {0, 2, 1, 3, 4});
  if (op == "Conv" && node.hasInput(2))
    result =
        e("Add",
          {result, e.reshape(node.node.inputs[2], {1, images[1], 1, 1, 1})});
  e.result(0, result);
  return e.status;
}

Status tessera::onnx::importVolume(NodeImport &node) {
  return Volume(node).import();
}

Status tessera::onnx::importGlobalPool(NodeImport &node) {
  Expansion e(node);
  std::vector<int64_t> shape = e.shape(node.node.inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  std::vector<int64_t> axes;
  for (size_t i = 2; i < shape.size(); ++i)
    axes.push_back(i);
  bool isMax = node.node.opType == "GlobalMaxPool";
  // Both are defined with the axes as an operand.
  e.result(0, e(isMax ? "ReduceMax" : "ReduceMean",
                {node.node.inputs[0], e.integers(axes)}));
  return e.status;
}
