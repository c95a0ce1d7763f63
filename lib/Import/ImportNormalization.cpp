//===- ImportNormalization.cpp - ONNX batch norm and softmax
//----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include "TensorBuilders.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

Status tessera::onnx::importBatchNormalization(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  ArrayRef<int64_t> shape = shapeOf(input);
  if (shape.size() < 2)
    return NodeImport::error(fmt::format("the input has the shape {}; accepted "
                                         "are at least two dimensions",
                                         shapeText(shape)));
  Value parameters[4]; // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    TESSERA_ASSIGN_OR_RETURN(parameters[i], node.input(i + 1));
    if (shapeOf(parameters[i]) != ArrayRef(shape[1]))
      return NodeImport::error(
          fmt::format("operand {} has the shape {}; accepted is [{}]", i + 1,
                      shapeText(shapeOf(parameters[i])), shape[1]));
  }
  TESSERA_ASSIGN_OR_RETURN(float epsilon,
                           node.floatAttribute("epsilon", 1e-5f));
  TESSERA_ASSIGN_OR_RETURN(bool training,
                           node.flagAttribute("training_mode", false));
  TESSERA_ASSIGN_OR_RETURN(bool spatial, node.flagAttribute("spatial", true));
  // Only scales a running mean, which no output here shows.
  TESSERA_ASSIGN_OR_RETURN([[maybe_unused]] float momentum,
                           node.floatAttribute("momentum", 0.9f));
  if (training)
    return NodeImport::error("attribute 'training_mode' is 1; accepted is 0");
  if (!spatial)
    return NodeImport::error("attribute 'spatial' is 0; accepted is 1");
  if (!(epsilon >= 0))
    return NodeImport::error(
        fmt::format("attribute 'epsilon' is {}; accepted are numbers of at "
                    "least 0",
                    epsilon));
  node.setResult(
      0, graph::BatchNormOp::create(node.b, input, parameters[0], parameters[1],
                                    parameters[2], parameters[3],
                                    node.b.getF32FloatAttr(epsilon)));
  return Status::success();
}

/// exp(x - max) / sum(exp(x - max)), or its logarithm as
/// (x - max) - log(sum(exp(x - max))).
static Value buildSoftmax(ImplicitLocOpBuilder &b, Value input, unsigned axis,
                          bool logarithm) {
  auto subtract = [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
    return arith::SubFOp::create(b, e[0], e[1]);
  };
  Value maximum = buildReduction(b, input, axis, Reduction::Max);
  Value exponentials =
      buildAcrossDim(b, input, maximum, axis,
                     [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                       return math::ExpOp::create(b, subtract(b, e));
                     });
  Value sum = buildReduction(b, exponentials, axis, Reduction::Sum);
  if (!logarithm)
    return buildAcrossDim(b, exponentials, sum, axis,
                          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                            return arith::DivFOp::create(b, e[0], e[1]);
                          });
  Value shifted = buildAcrossDim(b, input, maximum, axis, subtract);
  return buildAcrossDim(b, shifted, sum, axis,
                        [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                          return arith::SubFOp::create(
                              b, e[0], math::LogOp::create(b, e[1]));
                        });
}

static Status importSoftmaxOf(NodeImport &node, bool logarithm) {
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  SmallVector<int64_t> shape(shapeOf(input));
  int64_t rank = shape.size();
  // Before operator set 13 the operator works on a matrix: all dimensions
  // before the axis, and all from it on. From 13 on it works along the axis.
  bool flattens = node.opset < 13;
  TESSERA_ASSIGN_OR_RETURN(int64_t axis,
                           node.intAttribute("axis", flattens ? 1 : -1));
  if (rank == 0)
    return NodeImport::error("the input is a scalar; accepted is at least one "
                             "dimension");
  if (flattens && axis == rank && !node.hasAttribute("axis"))
    axis = rank - 1; // A vector with the default axis: one row.
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  if (!flattens) {
    node.setResult(0, buildSoftmax(node.b, input, axis, logarithm));
    return Status::success();
  }
  int64_t columns = product(ArrayRef(shape).drop_front(axis));
  Value matrix =
      buildReshape(node.b, input, {product(shape) / columns, columns});
  Value result = buildSoftmax(node.b, matrix, 1, logarithm);
  node.setResult(0, buildReshape(node.b, result, shape));
  return Status::success();
}

Status tessera::onnx::importSoftmax(NodeImport &node) {
  return importSoftmaxOf(node, false);
}

Status tessera::onnx::importLogSoftmax(NodeImport &node) {
  return importSoftmaxOf(node, true);
}
