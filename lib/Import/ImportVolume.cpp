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
  /// The average over the elements that count, from that over whole windows.
  tessera::Result<std::string> weighAverage(const std::string &average);

  NodeImport &node;
  Expansion e;
  StringRef op;
  std::vector<int64_t> shape, kernel, strides, dilations, pads;
  std::vector<int64_t>
      beyond; ///< What the last windows reach into (ceil_mode).
  std::vector<int64_t> counts; ///< Of windows along each dimension.
  bool countsPads = false;
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
  if (op != "Conv" && !node.hasAttribute("kernel_shape"))
    return NodeImport::error("has no attribute 'kernel_shape'");
  TESSERA_RETURN_IF_ERROR(list("kernel_shape", 3, 1, kernel));
  TESSERA_RETURN_IF_ERROR(list("strides", 3, 1, strides));
  TESSERA_RETURN_IF_ERROR(list("dilations", 3, 1, dilations));
  TESSERA_RETURN_IF_ERROR(list("pads", 6, 0, pads));
  if (op == "Conv")
    kernel.assign(weights.end() - 3, weights.end());
  TESSERA_ASSIGN_OR_RETURN(std::string automatic,
                           node.stringAttribute("auto_pad", "NOTSET"));
  TESSERA_ASSIGN_OR_RETURN(bool ceil, node.flagAttribute("ceil_mode", false));
  TESSERA_ASSIGN_OR_RETURN(countsPads,
                           node.flagAttribute("count_include_pad", false));
  bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    return NodeImport::error(
        fmt::format("attribute 'auto_pad' is '{}'; accepted are NOTSET, "
                    "SAME_UPPER, SAME_LOWER and VALID",
                    automatic));
  for (size_t i = 0; i < 3; ++i) {
    int64_t extent = shape[2 + i], reach = (kernel[i] - 1) * dilations[i] + 1;
    int64_t &low = pads[i], &high = pads[3 + i];
    if (same) {
      int64_t windows = (extent + strides[i] - 1) / strides[i];
      int64_t sum =
          std::max<int64_t>(0, (windows - 1) * strides[i] + reach - extent);
      low = automatic == "SAME_UPPER" ? sum / 2 : sum - sum / 2;
      high = sum - low;
    }
    int64_t room = extent + low + high - reach;
    if (room < 0)
      return NodeImport::error(
          fmt::format("a window reaches over {} layers; there are {}", reach,
                      room + reach));
    int64_t windows = (ceil ? room + strides[i] - 1 : room) / strides[i] + 1;
    // A last window that would start in the padding behind is left out.
    if (ceil && (windows - 1) * strides[i] >= extent + low)
      --windows;
    // Layers and windows are listed one by one.
    constexpr int64_t mostLayers = 4096, mostWindows = int64_t(1) << 24;
    if (kernel[i] > mostLayers || windows > mostWindows)
      return {
          StatusCode::Unsupported,
          fmt::format("has {} windows of {} layers; accepted are up to 2^24 "
                      "and {}",
                      windows, kernel[i], mostLayers)};
    if (op != "Conv" && (low >= reach || high >= reach))
      return NodeImport::error("has padding as wide as the window; accepted is "
                               "less");
    beyond.push_back(std::max<int64_t>(0, (windows - 1) * strides[i] - room));
    counts.push_back(windows);
  }
  depth = counts[0];
  auto last = [](const std::vector<int64_t> &from) {
    return std::vector<int64_t>(from.begin() + 1, from.end());
  };
  flat["kernel_shape"] = attributeOf(last(kernel));
  flat["strides"] = attributeOf(last(strides));
  flat["dilations"] = attributeOf(last(dilations));
  if (op == "Conv") {
    TESSERA_ASSIGN_OR_RETURN(int64_t group, node.intAttribute("group", 1));
    flat["group"] = attributeOf(group);
  }
  return Status::success();
}

tessera::Result<std::string> Volume::weighAverage(const std::string &average) {
  // How many elements of each window count, along each dimension.
  std::vector<double> elements[3];
  bool isFull = true;
  for (size_t i = 0; i < 3; ++i)
    for (int64_t window = 0; window < counts[i]; ++window) {
      // Taps first + k * step in [low, high).
      int64_t first = window * strides[i] - pads[i], step = dilations[i];
      int64_t low = countsPads ? -pads[i] : 0,
              high = shape[2 + i] + (countsPads ? pads[3 + i] : 0);
      int64_t begin = first >= low ? 0 : (low - first + step - 1) / step;
      int64_t end = (high - first + step - 1) / step;
      int64_t count = std::min(end, kernel[i]) - begin;
      isFull &= count == kernel[i];
      elements[i].push_back(static_cast<double>(count));
    }
  if (isFull)
    return average;
  constexpr int64_t mostWindows = int64_t(1) << 24;
  if (counts[0] > mostWindows / counts[1] ||
      counts[0] * counts[1] > mostWindows / counts[2])
    return Status(StatusCode::Unsupported,
                  "has more than 2^24 windows of different size");
  double whole = static_cast<double>(product(kernel));
  std::vector<double> factors;
  for (double layers : elements[0])
    for (double rows : elements[1])
      for (double columns : elements[2])
        factors.push_back(whole / (layers * rows * columns));
  std::string factor = node.constant(tensorOf(
      Float, {1, 1, counts[0], counts[1], counts[2]}, ArrayRef(factors)));
  int64_t type = node.inputType(0);
  if (type != Float)
    factor = e("Cast", {factor}, {{"to", attributeOf(type)}});
  return e("Mul", {average, factor});
}

std::string Volume::layer(const std::string &padded, int64_t number) {
  int64_t begin = number * dilations[0];
  std::string layers =
      e("Slice", {padded, e.integers(begin),
                  e.integers(begin + (depth - 1) * strides[0] + 1),
                  e.integers(2), e.integers(strides[0])});
  return e.reshape(e.transpose(layers, {0, 2, 1, 3, 4}),
                   {shape[0] * depth, shape[1],
                    shape[3] + pads[1] + pads[4] + beyond[1],
                    shape[4] + pads[2] + pads[5] + beyond[2]});
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
  std::vector<int64_t> amounts(10, 0);
  for (size_t i = 0; i < 3; ++i) {
    amounts[2 + i] = pads[i];
    amounts[7 + i] = pads[3 + i] + beyond[i];
  }
  if (llvm::any_of(amounts, [](int64_t pad) { return pad != 0; })) {
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
  if (op == "AveragePool") {
    TESSERA_ASSIGN_OR_RETURN(result, weighAverage(result));
  }
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
