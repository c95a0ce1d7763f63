//===- ImportExpanded.cpp - ONNX operators written as others --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <cmath>
#include <fmt/format.h>
#include <numbers>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// 1 at the first largest element of the axis, 0 elsewhere.
Status tessera::onnx::importHardmax(NodeImport &node) {
  Expansion e(node);
  std::vector<int64_t> shape = e.shape(node.node.inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  int64_t rank = shape.size();
  bool flattens = node.opset < 13;
  TESSERA_ASSIGN_OR_RETURN(int64_t axis,
                           node.intAttribute("axis", flattens ? 1 : -1));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  std::string x = node.node.inputs[0];
  std::vector<int64_t> own = shape;
  if (flattens) {
    int64_t columns = product(ArrayRef(shape).drop_front(axis));
    own = {product(shape) / columns, columns};
    x = e.reshape(x, own);
    axis = 1;
  }
  std::string index =
      e("ArgMax", {x},
        {{"axis", attributeOf(axis)}, {"keepdims", attributeOf(int64_t(0))}});
  int32_t type = node.inputType(0);
  std::string values =
      e("Cast", {node.constant(tensorOf(Float, {2}, ArrayRef<double>{0, 1}))},
        {{"to", attributeOf(int64_t(type))}});
  std::string result = e("OneHot", {index, e.number(own[axis]), values},
                         {{"axis", attributeOf(axis)}});
  e.result(0, e.reshape(result, shape));
  return e.status;
}

/// The product of the elements along each axis, by halves.
Status tessera::onnx::importComputedProduct(NodeImport &node,
                                            ArrayRef<int64_t> axes, bool keep) {
  Expansion e(node);
  std::string value = node.node.inputs[0];
  std::vector<int64_t> shape = e.shape(value);
  TESSERA_RETURN_IF_ERROR(e.status);
  std::vector<int64_t> result;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool reduced = llvm::is_contained(axes, static_cast<int64_t>(i));
    if (!reduced || keep)
      result.push_back(reduced ? 1 : shape[i]);
  }
  for (int64_t axis : axes)
    for (int64_t count = shape[axis]; count > 1 && e.ok();) {
      int64_t half = count / 2;
      std::string product = e("Mul", {e.slice(value, axis, 0, half),
                                      e.slice(value, axis, half, 2 * half)});
      value = count % 2 == 0
                  ? product
                  : e.concat({product, e.slice(value, axis, 2 * half, count)},
                             axis);
      count -= half;
    }
  e.result(0, e.reshape(value, result));
  return e.status;
}

Status tessera::onnx::importEyeLike(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  TESSERA_ASSIGN_OR_RETURN(int64_t diagonal, node.intAttribute("k", 0));
  TESSERA_ASSIGN_OR_RETURN(int64_t type,
                           node.intAttribute("dtype", node.inputType(0)));
  constexpr int64_t maxElements = int64_t(1) << 24;
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 ||
      shape[0] > maxElements / shape[1])
    return NodeImport::error(fmt::format(
        "the input has the shape {}; accepted are two dimensions with up to "
        "2^24 elements",
        shapeText(shape)));
  std::vector<double> elements;
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t column = 0; column < shape[1]; ++column)
      elements.push_back(column - row == diagonal ? 1 : 0);
  Expansion e(node);
  std::string result =
      node.constant(tensorOf(Float, shape, ArrayRef<double>(elements)));
  e.result(0, e("Cast", {result}, {{"to", attributeOf(type)}}));
  return e.status;
}

/// The sum or product of the elements up to each: with what lies 1, 2, 4, ...
/// elements before, in turn.
Status tessera::onnx::importRunning(NodeImport &node) {
  Expansion e(node);
  std::string value = node.node.inputs[0];
  std::vector<int64_t> shape = e.shape(value);
  TESSERA_RETURN_IF_ERROR(e.status);
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.integerInput(1));
  TESSERA_ASSIGN_OR_RETURN(bool exclusive,
                           node.flagAttribute("exclusive", false));
  TESSERA_ASSIGN_OR_RETURN(bool reverse, node.flagAttribute("reverse", false));
  bool sums = node.node.opType == "CumSum";
  int64_t rank = shape.size();
  if (axes.size() != 1)
    return NodeImport::error("operand 1: accepted is one axis");
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.axis(axes[0], rank, rank - 1));
  int64_t extent = shape[axis];
  std::string neutral = e.scalar(sums ? 0 : 1, node.inputType(0));
  // What lies `distance` elements before, or the neutral element.
  auto before = [&](const std::string &from, int64_t distance) {
    std::vector<int64_t> pads(2 * rank, 0);
    pads[reverse ? rank + axis : axis] = distance;
    std::string kept = reverse ? e.slice(from, axis, distance, extent)
                               : e.slice(from, axis, 0, extent - distance);
    return e("Pad", {kept, e.integers(pads), neutral});
  };
  if (exclusive)
    value = extent > 1 ? before(value, 1)
                       : e("Expand", {neutral, e.integers(shape)});
  for (int64_t distance = 1; distance < extent && e.ok(); distance *= 2)
    value = e(sums ? "Add" : "Mul", {value, before(value, distance)});
  e.result(0, value);
  return e.status;
}

/// a * sigmoid(alpha * a) * b.
Status tessera::onnx::importSwiGlu(NodeImport &node) {
  Expansion e(node);
  TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 1));
  const std::vector<std::string> &inputs = node.node.inputs;
  std::vector<int64_t> a = e.shape(inputs[0]), b = e.shape(inputs[1]);
  TESSERA_RETURN_IF_ERROR(e.status);
  if (a != b)
    return NodeImport::error(fmt::format("operands {} and {} differ in shape",
                                         shapeText(a), shapeText(b)));
  e.result(0,
           e("Mul", {e("Swish", {inputs[0]}, {{"alpha", attributeOf(alpha)}}),
                     inputs[1]}));
  return e.status;
}

/// The positions of a constant's elements other than 0.
Status tessera::onnx::importNonZero(NodeImport &node) {
  const Tensor *constant = node.constantInput(0);
  std::optional<std::vector<double>> numbers;
  if (constant)
    numbers = constant->numbers();
  if (!numbers)
    return {StatusCode::Unsupported,
            "how many positions there are depends on computed elements; "
            "accepted is a constant"};
  std::vector<int64_t> found;
  for (size_t i = 0; i < numbers->size(); ++i)
    if ((*numbers)[i] != 0)
      found.push_back(i);
  // Row by row of the result: one coordinate of every position.
  SmallVector<int64_t> shape = shapeOf(*constant),
                       strides = rowMajorStrides(shape);
  std::vector<int64_t> coordinates;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    for (int64_t at : found)
      coordinates.push_back(at / strides[dim] % shape[dim]);
  int64_t rank = shape.size(), count = found.size();
  node.setConstant(0, tensorOf(Int64, {rank, count}, ArrayRef(coordinates)));
  return Status::success();
}

/// Hann, Hamming and Blackman windows of a known length.
Status tessera::onnx::importWindowFunction(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> given, node.integerInput(0));
  TESSERA_ASSIGN_OR_RETURN(bool periodic, node.flagAttribute("periodic", true));
  TESSERA_ASSIGN_OR_RETURN(int64_t type,
                           node.intAttribute("output_datatype", Float));
  constexpr int64_t maxSize = int64_t(1) << 24;
  if (given.size() != 1 || given[0] < 1 || given[0] > maxSize)
    return NodeImport::error("operand 0: accepted is one number, 1 to 2^24");
  int64_t size = given[0], period = periodic ? size : size - 1;
  StringRef op = node.node.opType;
  std::vector<double> elements;
  for (int64_t i = 0; i < size; ++i) {
    double angle = period == 0 ? 0 : 2 * std::numbers::pi * i / period;
    elements.push_back(op == "HannWindow" ? 0.5 - 0.5 * std::cos(angle)
                       : op == "HammingWindow"
                           ? 25.0 / 46 - 21.0 / 46 * std::cos(angle)
                           : 0.42 - 0.5 * std::cos(angle) +
                                 0.08 * std::cos(2 * angle));
  }
  Expansion e(node);
  std::string result =
      node.constant(tensorOf(Float, {size}, ArrayRef<double>(elements)));
  e.result(0, e("Cast", {result}, {{"to", attributeOf(type)}}));
  return e.status;
}

/// Triangles that overlap, evenly spaced on the scale of mels, over the bins of
/// a spectrum.
Status tessera::onnx::importMelWeights(NodeImport &node) {
  double given[5];
  for (size_t i = 0; i < 5; ++i) {
    const Tensor *constant = node.constantInput(i);
    std::optional<std::vector<double>> numbers;
    if (constant)
      numbers = constant->numbers();
    if (!numbers || numbers->size() != 1)
      return NodeImport::error(
          fmt::format("operand {}: accepted is a constant number", i));
    given[i] = numbers->front();
  }
  TESSERA_ASSIGN_OR_RETURN(int64_t type,
                           node.intAttribute("output_datatype", Float));
  constexpr double most = 1 << 16;
  if (!(given[0] >= 1 && given[0] <= most && given[1] >= 1 &&
        given[1] <= most && given[2] >= 1 && given[3] >= 0 &&
        given[4] > given[3]))
    return NodeImport::error(fmt::format(
        "has {} bands of {} samples at a rate of {}, from {} to {} hertz; "
        "accepted are 1 to 65536 bands and samples and ascending frequencies",
        given[0], given[1], given[2], given[3], given[4]));
  int64_t bands = static_cast<int64_t>(given[0]),
          samples = static_cast<int64_t>(given[1]);
  int64_t bins = samples / 2 + 1;
  auto melOf = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = melOf(given[3]), high = melOf(given[4]);
  std::vector<int64_t> edges; // Begin, peak and end of band i are i to i + 2.
  for (int64_t i = 0; i < bands + 2; ++i) {
    double mel = low + static_cast<double>(i) * ((high - low) / (given[0] + 2));
    double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    edges.push_back(
        static_cast<int64_t>(std::floor((given[1] + 1) * hertz / given[2])));
  }
  std::vector<double> weights(bins * bands, 0);
  for (int64_t band = 0; band < bands; ++band) {
    int64_t begin = edges[band], peak = edges[band + 1], end = edges[band + 2];
    auto set = [&](int64_t bin, double weight) {
      if (bin < bins)
        weights[bin * bands + band] = weight;
    };
    if (begin == peak)
      set(peak, 1);
    for (int64_t bin = begin; bin <= peak && begin != peak; ++bin)
      set(bin,
          static_cast<double>(bin - begin) / static_cast<double>(peak - begin));
    for (int64_t bin = peak; bin < end; ++bin)
      set(bin,
          static_cast<double>(end - bin) / static_cast<double>(end - peak));
  }
  Expansion e(node);
  std::string result =
      node.constant(tensorOf(Float, {bins, bands}, ArrayRef(weights)));
  e.result(0, e("Cast", {result}, {{"to", attributeOf(type)}}));
  return e.status;
}

/// Reverses the first lengths[b] elements of each batch's sequence.
Status tessera::onnx::importReverseSequence(NodeImport &node) {
  Expansion e(node);
  const std::vector<std::string> &inputs = node.node.inputs;
  std::vector<int64_t> shape = e.shape(inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t batch, node.intAttribute("batch_axis", 1));
  TESSERA_ASSIGN_OR_RETURN(int64_t time, node.intAttribute("time_axis", 0));
  TESSERA_ASSIGN_OR_RETURN(batch, node.axis(batch, rank, rank - 1));
  TESSERA_ASSIGN_OR_RETURN(time, node.axis(time, rank, rank - 1));
  if (batch + time != 1)
    return NodeImport::error(
        fmt::format("has batch axis {} and time axis {}; accepted are 0 and 1",
                    batch, time));
  // Where each element comes from: length - 1 - i inside, i beyond.
  std::vector<int64_t> steps(shape[time]), lead(rank, 1), along(rank, 1);
  for (int64_t i = 0; i < shape[time]; ++i)
    steps[i] = i;
  along[time] = shape[time];
  lead[batch] = shape[batch];
  std::string index = e.reshape(e.integers(steps), along);
  std::string length = e.reshape(inputs[1], lead);
  std::string mirrored = e("Sub", {e("Sub", {length, e.number(1)}), index});
  std::string position =
      e("Where", {e("Less", {index, length}), mirrored, index});
  position = e("Expand", {position, e.integers(shape)});
  e.result(0, e("GatherElements", {inputs[0], position},
                {{"axis", attributeOf(time)}}));
  return e.status;
}

Status tessera::onnx::importMeanVarianceNormalization(NodeImport &node) {
  Expansion e(node);
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                           node.intsAttribute("axes"));
  std::string axes = e.integers(given ? *given : std::vector<int64_t>{0, 2, 3});
  const std::string &x = node.node.inputs[0];
  std::string centered = e("Sub", {x, e("ReduceMean", {x, axes})});
  std::string variance =
      e("ReduceMean", {e("Mul", {centered, centered}), axes});
  int32_t type = node.inputType(0);
  std::string deviation =
      e("Add", {e("Sqrt", {variance}), e.scalar(1e-9, type)});
  e.result(0, e("Div", {centered, deviation}));
  return e.status;
}

/// The elements or slices at which a known condition holds.
Status tessera::onnx::importCompress(NodeImport &node) {
  Expansion e(node);
  std::string x = node.node.inputs[0];
  const Tensor *condition = node.constantInput(1);
  if (!condition || condition->elementType != Bool)
    return {StatusCode::Unsupported,
            "how many elements there are depends on a computed condition; "
            "accepted is a constant one"};
  std::vector<int64_t> shape = e.shape(x);
  TESSERA_RETURN_IF_ERROR(e.status);
  int64_t axis = 0;
  if (node.hasAttribute("axis")) {
    int64_t rank = shape.size();
    TESSERA_ASSIGN_OR_RETURN(axis, node.intAttribute("axis", 0));
    TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  } else {
    shape = {product(shape)};
    x = e.reshape(x, shape);
  }
  std::vector<int64_t> kept;
  for (size_t i = 0; i < condition->data->size(); ++i)
    if ((*condition->data)[i])
      kept.push_back(i);
  e.result(0,
           e("Gather", {x, e.integers(kept)}, {{"axis", attributeOf(axis)}}));
  return e.status;
}

/// The values put back at the positions that a MaxPool took them from.
Status tessera::onnx::importMaxUnpool(NodeImport &node) {
  Expansion e(node);
  const std::vector<std::string> &inputs = node.node.inputs;
  std::vector<int64_t> shape = e.shape(inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  size_t spatial = shape.size() - 2;
  auto list = [&](StringRef name, size_t count,
                  int64_t byDefault) -> tessera::Result<std::vector<int64_t>> {
    TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                             node.intsAttribute(name));
    if (!given)
      return std::vector<int64_t>(count, byDefault);
    if (given->size() != count)
      return NodeImport::error(
          fmt::format("attribute '{}' has {} values; accepted are {}",
                      name.str(), given->size(), count));
    return *given;
  };
  if (shape.size() < 3)
    return NodeImport::error(fmt::format("the input has the shape {}; accepted "
                                         "is at least one spatial dimension",
                                         shapeText(shape)));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel,
                           list("kernel_shape", spatial, 1));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> strides,
                           list("strides", spatial, 1));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> pads,
                           list("pads", 2 * spatial, 0));
  std::vector<int64_t> inner = shape;
  for (size_t i = 0; i < spatial; ++i)
    inner[2 + i] = (shape[2 + i] - 1) * strides[i] + kernel[i] - pads[i] -
                   pads[spatial + i];
  std::vector<int64_t> result = inner;
  if (node.hasInput(2)) {
    TESSERA_ASSIGN_OR_RETURN(result, node.integerInput(2));
    if (result.size() != shape.size())
      return NodeImport::error("operand 2 (output_shape) has another number of "
                               "dimensions");
  }
  TESSERA_RETURN_IF_ERROR(checkShape(inner));
  TESSERA_RETURN_IF_ERROR(checkShape(result));
  // Positions count the elements of the smaller shape.
  int32_t type = node.inputType(0);
  std::string zeros =
      e("Expand", {e.scalar(0, type), e.integers(product(inner))});
  std::string put =
      e("ScatterElements", {zeros, e.reshape(inputs[1], product(shape)),
                            e.reshape(inputs[0], product(shape))});
  put = e.reshape(put, inner);
  std::vector<int64_t> grow(2 * shape.size(), 0);
  for (size_t i = 0; i < shape.size(); ++i) {
    grow[shape.size() + i] = result[i] - inner[i];
    if (result[i] < inner[i])
      return NodeImport::error(
          fmt::format("the output shape {} is smaller than {}",
                      shapeText(result), shapeText(inner)));
  }
  e.result(0, result == inner ? put : e("Pad", {put, e.integers(grow)}));
  return e.status;
}
