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
  // Before version 7 the default was training.
  TESSERA_ASSIGN_OR_RETURN(bool isTest, node.flagAttribute("is_test", false));
  if (training || (node.opset < 7 && !isTest))
    return NodeImport::error("trains; accepted is inference (training_mode 0, "
                             "or is_test 1 before version 7)");
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

//===-- Normalisations over a matrix of rows ------------------------------===//

/// A reduction's sum over the last dimension of a matrix, divided by its
/// extent.
static Value buildRowMean(ImplicitLocOpBuilder &b, Value rows,
                          ElementFunction term) {
  int64_t count = shapeOf(rows)[1];
  Value sum =
      buildReduction(b, *buildElementwise(b, rows, term), 1, Reduction::Sum);
  return *buildElementwise(b, sum, [&](ImplicitLocOpBuilder &b, ValueRange e) {
    return buildDivision(b, e[0], count);
  });
}

/// (x - mean) / sqrt(variance + epsilon) for each row of a matrix; without the
/// mean if `centers` is false.
static Value normalizeRows(ImplicitLocOpBuilder &b, Value rows, float epsilon,
                           bool centers) {
  if (centers) {
    Value mean = buildRowMean(
        b, rows, [](ImplicitLocOpBuilder &, ValueRange e) { return e[0]; });
    rows = buildAcrossDim(b, rows, mean, 1,
                          [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                            return arith::SubFOp::create(b, e[0], e[1]);
                          });
  }
  Value variance =
      buildRowMean(b, rows, [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        return arith::MulFOp::create(b, e[0], e[0]);
      });
  return buildAcrossDim(
      b, rows, variance, 1,
      [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value shifted = arith::AddFOp::create(b, e[1], buildScalar(b, epsilon));
        return arith::DivFOp::create(b, e[0], math::SqrtOp::create(b, shifted));
      });
}

/// x * scale + bias, each of which broadcasts to x; the bias may be null.
static tessera::Result<Value>
buildScaleAndBias(ImplicitLocOpBuilder &b, Value x, Value scale, Value bias) {
  SmallVector<Value> operands{x, scale};
  if (bias)
    operands.push_back(bias);
  SmallVector<int64_t> shape(shapeOf(x));
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> common,
                           broadcastShapes(operands));
  if (common != shape)
    return NodeImport::error(
        fmt::format("the scale {} or the bias does not broadcast to {}",
                    shapeText(shapeOf(scale)), shapeText(shape)));
  return buildElementwise(
      b, operands, [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value scaled = arith::MulFOp::create(b, e[0], e[1]);
        return e.size() < 3
                   ? scaled
                   : arith::AddFOp::create(b, scaled, e[2]).getResult();
      });
}

static Status checkEpsilon(float epsilon) {
  if (epsilon >= 0)
    return Status::success();
  return NodeImport::error(fmt::format(
      "attribute 'epsilon' is {}; accepted are numbers of at least 0",
      epsilon));
}

/// The second and third results of a LayerNormalization: mean and one over the
/// deviation of each row, in f32.
static Status setRowStatistics(NodeImport &node, Value rows, float epsilon,
                               ArrayRef<int64_t> shape, int64_t axis) {
  if (!node.hasOutput(1) && !node.hasOutput(2))
    return Status::success();
  ImplicitLocOpBuilder &b = node.b;
  SmallVector<int64_t> outer(shape.take_front(axis));
  outer.append(shape.size() - axis, 1);
  Value mean = buildRowMean(
      b, rows, [](ImplicitLocOpBuilder &, ValueRange e) { return e[0]; });
  if (node.hasOutput(1))
    node.setResult(1, buildReshape(b, mean, outer), Float);
  if (!node.hasOutput(2))
    return Status::success();
  Value centered = buildAcrossDim(
      b, rows, mean, 1, [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        return arith::SubFOp::create(b, e[0], e[1]);
      });
  Value variance = buildRowMean(
      b, centered, [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        return arith::MulFOp::create(b, e[0], e[0]);
      });
  TESSERA_ASSIGN_OR_RETURN(
      Value inverse,
      buildElementwise(
          b, variance, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
            Value shifted =
                arith::AddFOp::create(b, e[0], buildScalar(b, epsilon));
            return arith::DivFOp::create(b, buildScalar(b, 1),
                                         math::SqrtOp::create(b, shifted));
          }));
  node.setResult(2, buildReshape(b, inverse, outer), Float);
  return Status::success();
}

Status tessera::onnx::importLayerNormalization(NodeImport &node) {
  bool centers = node.node.opType == "LayerNormalization";
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(Value scale, node.input(1));
  Value bias;
  if (node.hasInput(2)) {
    TESSERA_ASSIGN_OR_RETURN(bias, node.input(2));
  }
  SmallVector<int64_t> shape(shapeOf(input));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", -1));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  TESSERA_ASSIGN_OR_RETURN(float epsilon,
                           node.floatAttribute("epsilon", 1e-5f));
  TESSERA_RETURN_IF_ERROR(checkEpsilon(epsilon));
  TESSERA_ASSIGN_OR_RETURN(int64_t stash, node.intAttribute("stash_type", 1));
  if (stash != Float)
    return {StatusCode::Unsupported,
            fmt::format("attribute 'stash_type' is {}; accepted is 1 (float)",
                        stash)};
  int64_t columns = product(ArrayRef(shape).drop_front(axis));
  Value rows = buildReshape(node.b, input, {product(shape) / columns, columns});
  Value normal = buildReshape(
      node.b, normalizeRows(node.b, rows, epsilon, centers), shape);
  TESSERA_ASSIGN_OR_RETURN(Value result,
                           buildScaleAndBias(node.b, normal, scale, bias));
  node.setResult(0, result);
  return setRowStatistics(node, rows, epsilon, shape, axis);
}

/// InstanceNormalization and GroupNormalization: rows are groups of channels.
Status tessera::onnx::importGroupNormalization(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value input, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(Value scale, node.input(1));
  TESSERA_ASSIGN_OR_RETURN(Value bias, node.input(2));
  SmallVector<int64_t> shape(shapeOf(input));
  if (shape.size() < 2)
    return NodeImport::error(fmt::format("the input has the shape {}; accepted "
                                         "are at least two dimensions",
                                         shapeText(shape)));
  int64_t channels = shape[1], groups = channels;
  if (node.node.opType == "GroupNormalization") {
    TESSERA_ASSIGN_OR_RETURN(groups, node.intAttribute("num_groups", 0));
  }
  if (groups < 1 || channels % groups != 0)
    return NodeImport::error(
        fmt::format("{} channels do not make {} groups", channels, groups));
  TESSERA_ASSIGN_OR_RETURN(float epsilon,
                           node.floatAttribute("epsilon", 1e-5f));
  TESSERA_RETURN_IF_ERROR(checkEpsilon(epsilon));
  int64_t count = shape[0] * groups;
  Value rows = buildReshape(node.b, input, {count, product(shape) / count});
  Value normal =
      buildReshape(node.b, normalizeRows(node.b, rows, epsilon, true), shape);
  // The scale is one for each channel, or for each group before operator set
  // 21.
  SmallVector<int64_t> each{groups, channels / groups}, along(shape.size(), 1);
  along[1] = channels;
  for (Value *parameter : {&scale, &bias}) {
    int64_t own = product(shapeOf(*parameter));
    if (own == channels) {
      *parameter = buildReshape(node.b, *parameter, along);
    } else if (own == groups) {
      TESSERA_ASSIGN_OR_RETURN(
          *parameter,
          buildBroadcast(node.b, buildReshape(node.b, *parameter, {groups, 1}),
                         each));
      *parameter = buildReshape(node.b, *parameter, along);
    } else {
      return NodeImport::error(
          fmt::format("the scale or bias has the shape {}; accepted is [{}]",
                      shapeText(shapeOf(*parameter)), channels));
    }
  }
  TESSERA_ASSIGN_OR_RETURN(Value result,
                           buildScaleAndBias(node.b, normal, scale, bias));
  node.setResult(0, result);
  return Status::success();
}
