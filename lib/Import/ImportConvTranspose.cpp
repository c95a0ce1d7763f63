//===- ImportConvTranspose.cpp - ONNX ConvTranspose -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transposed convolution is a convolution of the input, spread out by zeros,
// with the mirrored weights.
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include "Window.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

namespace {
struct TransposedWindow {
  SmallVector<int64_t> strides, dilations, low, high, output;
};
} // namespace

static tessera::Result<SmallVector<int64_t>>
readList(NodeImport &node, StringRef name, size_t count, int64_t byDefault,
         int64_t least) {
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> given,
                           node.intsAttribute(name));
  SmallVector<int64_t> list(count, byDefault);
  if (given)
    list.assign(given->begin(), given->end());
  bool valid = list.size() == count;
  for (int64_t value : list)
    valid &= value >= least && value <= (int64_t(1) << 30);
  if (!valid)
    return NodeImport::error(fmt::format(
        "attribute '{}' is {}; accepted are {} numbers from {} to 2^30",
        name.str(), shapeText(list), count, least));
  return list;
}

static tessera::Result<TransposedWindow>
readTransposedWindow(NodeImport &node, ArrayRef<int64_t> spatial,
                     ArrayRef<int64_t> kernel) {
  size_t rank = spatial.size();
  TransposedWindow window;
  TESSERA_ASSIGN_OR_RETURN(window.strides,
                           readList(node, "strides", rank, 1, 1));
  TESSERA_ASSIGN_OR_RETURN(window.dilations,
                           readList(node, "dilations", rank, 1, 1));
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> pads,
                           readList(node, "pads", 2 * rank, 0, 0));
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> extra,
                           readList(node, "output_padding", rank, 0, 0));
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> shape,
                           readList(node, "kernel_shape", rank, 1, 1));
  TESSERA_ASSIGN_OR_RETURN(std::string automatic,
                           node.stringAttribute("auto_pad", "NOTSET"));
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> wanted,
                           node.intsAttribute("output_shape"));
  if (node.hasAttribute("kernel_shape") && ArrayRef(shape) != kernel)
    return NodeImport::error(fmt::format("attribute 'kernel_shape' is {}, the "
                                         "weights have {}",
                                         shapeText(shape), shapeText(kernel)));
  bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!same && automatic != "NOTSET" && automatic != "VALID")
    return NodeImport::error(
        fmt::format("attribute 'auto_pad' is '{}'; accepted are NOTSET, "
                    "SAME_UPPER, SAME_LOWER and VALID",
                    automatic));
  // Older models give the batch and the channels too.
  if (wanted && wanted->size() > rank)
    wanted->erase(wanted->begin(), wanted->end() - rank);
  if (wanted && wanted->size() != rank)
    return NodeImport::error("attribute 'output_shape' has too few numbers");
  for (size_t i = 0; i < rank; ++i) {
    int64_t reach = (kernel[i] - 1) * window.dilations[i];
    int64_t full = window.strides[i] * (spatial[i] - 1) + reach + 1 + extra[i];
    int64_t low = pads[i], high = pads[rank + i];
    if (wanted || same) {
      int64_t out = wanted ? (*wanted)[i] : spatial[i] * window.strides[i];
      // A missing part is added as zeros behind.
      int64_t total = std::max<int64_t>(0, full - out);
      low = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = full - out - low;
    }
    window.output.push_back(full - low - high);
    window.low.push_back(reach - low);
    window.high.push_back(reach - high + extra[i]);
  }
  return window;
}

/// The weights [C, F / group, ...] as a convolution's [F, C / group, ...], each
/// plane mirrored.
static tessera::Result<Value> mirrorWeights(NodeImport &node, Value weights,
                                            int64_t group) {
  SmallVector<int64_t> shape(shapeOf(weights));
  size_t rank = shape.size();
  ImplicitLocOpBuilder &b = node.b;
  for (size_t dim = 2; dim < rank; ++dim) {
    SmallVector<int64_t> positions;
    for (int64_t at = shape[dim]; at-- > 0;)
      positions.push_back(at);
    TESSERA_ASSIGN_OR_RETURN(weights, buildPick(b, weights, dim, positions));
  }
  SmallVector<int64_t> grouped{group, shape[0] / group, shape[1]};
  SmallVector<int64_t> order{0, 2, 1},
      result{group * shape[1], shape[0] / group};
  for (size_t dim = 2; dim < rank; ++dim) {
    grouped.push_back(shape[dim]);
    order.push_back(dim + 1);
    result.push_back(shape[dim]);
  }
  return buildReshape(
      b, buildTranspose(b, buildReshape(b, weights, grouped), order), result);
}

Status tessera::onnx::importConvTranspose(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value image, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(Value weights, node.input(1));
  SmallVector<int64_t> in(shapeOf(image)), filter(shapeOf(weights));
  TESSERA_ASSIGN_OR_RETURN(int64_t group, node.intAttribute("group", 1));
  if (in.size() < 3 || in.size() > 5 || filter.size() != in.size() ||
      group < 1 || in[1] % group != 0 || filter[0] != in[1])
    return NodeImport::error(
        fmt::format("input {}, weights {} and group {} do not fit: accepted "
                    "are one to three "
                    "spatial dimensions and weights [C, F / group, ...]",
                    shapeText(in), shapeText(filter), group));
  ImplicitLocOpBuilder &b = node.b;
  TESSERA_ASSIGN_OR_RETURN(
      TransposedWindow window,
      readTransposedWindow(node, ArrayRef(in).drop_front(2),
                           ArrayRef(filter).drop_front(2)));
  int64_t filters = filter[1] * group;
  SmallVector<int64_t> shape{in[0], filters};
  llvm::append_range(shape, window.output);
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  for (size_t i = 0; i < window.strides.size(); ++i) {
    unsigned dim = 2 + i;
    SmallVector<int64_t> own(shapeOf(image)), split(own);
    int64_t stride = window.strides[i];
    if (stride > 1) {
      split.insert(split.begin() + dim + 1, 1);
      own[dim] *= stride;
      TESSERA_RETURN_IF_ERROR(checkShape(own));
      image = buildPad(b, buildReshape(b, image, split), dim + 1, {0},
                       {stride - 1}, 0);
      image = buildReshape(b, image, own);
    }
    // Zeros behind the last element are part of what is padded or cut.
    int64_t low = window.low[i], high = window.high[i] - (stride - 1);
    SmallVector<int64_t> positions;
    for (int64_t at = std::max<int64_t>(0, -low);
         at < own[dim] + std::min<int64_t>(0, high); ++at)
      positions.push_back(at);
    if (positions.empty())
      return {StatusCode::Unsupported, "cuts every element of a dimension"};
    if (low < 0 || high < 0) {
      TESSERA_ASSIGN_OR_RETURN(image, buildPick(b, image, dim, positions));
    }
    image = buildPad(b, image, dim, {std::max<int64_t>(low, 0)},
                     {std::max<int64_t>(high, 0)}, 0);
  }
  TESSERA_ASSIGN_OR_RETURN(weights, mirrorWeights(node, weights, group));
  if (in.size() == 5) {
    auto named = [&](Value value) {
      GraphValue entry;
      entry.value = value;
      entry.elementType = Float;
      return node.nameOf(std::move(entry));
    };
    std::vector<std::string> operands{named(image), named(weights)};
    if (node.hasInput(2)) {
      TESSERA_ASSIGN_OR_RETURN(Value bias, node.input(2));
      operands.push_back(named(bias));
    }
    std::vector<int64_t> dilations(window.dilations.begin(),
                                   window.dilations.end());
    TESSERA_ASSIGN_OR_RETURN(std::string result,
                             node.emit("Conv", operands,
                                       {{"dilations", attributeOf(dilations)},
                                        {"group", attributeOf(group)}}));
    node.setResult(0, node.lookup(result).value);
    return Status::success();
  }
  Window plain;
  bool oneDim = in.size() == 3;
  if (oneDim) {
    plain.output.push_back(1);
    plain.dilations.push_back(1);
  }
  plain.strides = {1, 1};
  plain.output.append(window.output.begin(), window.output.end());
  plain.dilations.append(window.dilations.begin(), window.dilations.end());
  image = buildReshape(b, image, withTwoSpatialDims(shapeOf(image)));
  weights = buildReshape(b, weights, withTwoSpatialDims(shapeOf(weights)));
  Value result = buildConvolution(b, image, weights, plain, group);
  if (node.hasInput(2)) {
    TESSERA_ASSIGN_OR_RETURN(Value bias, node.input(2));
    if (shapeOf(bias) != ArrayRef(filters))
      return NodeImport::error(
          fmt::format("the bias has the shape {}; accepted is [{}]",
                      shapeText(shapeOf(bias)), filters));
    result = buildAlongDim(b, result, bias, 1,
                           [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                             return arith::AddFOp::create(b, e[0], e[1]);
                           });
  }
  node.setResult(0, buildReshape(b, result, shape));
  return Status::success();
}
