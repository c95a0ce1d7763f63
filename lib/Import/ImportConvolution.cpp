//===- ImportConvolution.cpp - ONNX Conv
//------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include "TensorBuilders.h"
#include "Window.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

Value tessera::onnx::buildConvolution(ImplicitLocOpBuilder &b, Value image,
                                      Value weights, const Window &window,
                                      int64_t group) {
  ArrayRef<int64_t> in = shapeOf(image), filter = shapeOf(weights);
  int64_t batch = in[0], channels = in[1], filters = filter[0];
  SmallVector<int64_t> shape{batch, filters, window.output[0],
                             window.output[1]};
  auto strides = b.getI64TensorAttr(window.strides);
  auto dilations = b.getI64TensorAttr(window.dilations);
  if (group == 1) {
    Value init = buildFilled(b, shape, 0);
    return linalg::Conv2DNchwFchwOp::create(b, init.getType(),
                                            ValueRange{image, weights}, init,
                                            strides, dilations)
        .getResult(0);
  }
  if (group == channels && group == filters) {
    Value plane = buildReshape(b, weights, {channels, filter[2], filter[3]});
    Value init = buildFilled(b, shape, 0);
    return linalg::DepthwiseConv2DNchwChwOp::create(b, init.getType(),
                                                    ValueRange{image, plane},
                                                    init, strides, dilations)
        .getResult(0);
  }
  Value groups =
      buildReshape(b, image, {batch, group, channels / group, in[2], in[3]});
  Value kernels = buildReshape(
      b, weights, {group, filters / group, filter[1], filter[2], filter[3]});
  Value init =
      buildFilled(b, {batch, group, filters / group, shape[2], shape[3]}, 0);
  Value result = linalg::Conv2DNgchwGfchwOp::create(b, init.getType(),
                                                    ValueRange{groups, kernels},
                                                    init, strides, dilations)
                     .getResult(0);
  return buildReshape(b, result, shape);
}

Status tessera::onnx::importConv(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  if (own.size() == 5)
    return importVolume(node);
  TESSERA_ASSIGN_OR_RETURN(Value image, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(Value weights, node.input(1));
  ArrayRef<int64_t> in = shapeOf(image), filter = shapeOf(weights);
  size_t rank = in.size();
  if (rank != 3 && rank != 4)
    return NodeImport::error(fmt::format("the input has the shape {}; accepted "
                                         "are one or two spatial dimensions",
                                         shapeText(in)));
  if (filter.size() != rank)
    return NodeImport::error(fmt::format(
        "the weights have the shape {}; accepted are {} dimensions here",
        shapeText(filter), rank));
  TESSERA_ASSIGN_OR_RETURN(int64_t group, node.intAttribute("group", 1));
  if (group < 1 || in[1] % group != 0 || filter[0] % group != 0 ||
      in[1] / group != filter[1])
    return NodeImport::error(fmt::format(
        "input {}, weights {} and group {} do not fit: accepted are "
        "weights [F, C / group, ...] and multiples of the group",
        shapeText(in), shapeText(filter), group));
  TESSERA_ASSIGN_OR_RETURN(
      Window window, readWindow(node, in.drop_front(2), filter.drop_front(2)));

  SmallVector<int64_t> shape{in[0], filter[0]};
  shape.append(window.output.end() - (rank - 2), window.output.end());
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  Value bias;
  if (node.hasInput(2)) {
    TESSERA_ASSIGN_OR_RETURN(bias, node.input(2));
    if (shapeOf(bias) != ArrayRef(filter[0]))
      return NodeImport::error(
          fmt::format("the bias has the shape {}; accepted "
                      "is [{}]",
                      shapeText(shapeOf(bias)), filter[0]));
  }

  image = buildReshape(node.b, image, withTwoSpatialDims(in));
  weights = buildReshape(node.b, weights, withTwoSpatialDims(filter));
  image = buildPad(node.b, image, 2, window.padsLow, window.padsHigh, 0);
  Value result = buildConvolution(node.b, image, weights, window, group);
  if (bias)
    result = buildAlongDim(node.b, result, bias, 1,
                           [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                             return arith::AddFOp::create(b, e[0], e[1]);
                           });
  node.setResult(0, buildReshape(node.b, result, shape));
  return Status::success();
}
