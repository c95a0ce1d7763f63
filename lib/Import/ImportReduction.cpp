//===- ImportReduction.cpp - ONNX reductions ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "NodeImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// The axes, from 0 and ascending. They are an attribute, and from some version
/// on an operand; absent or empty they mean all, or none with
/// noop_with_empty_axes.
static tessera::Result<std::vector<int64_t>> readAxes(NodeImport &node,
                                                      int64_t rank) {
  int64_t operandFrom = node.node.opType == "ReduceSum" ? 13 : 18;
  std::optional<std::vector<int64_t>> axes;
  if (node.opset < operandFrom) {
    TESSERA_ASSIGN_OR_RETURN(axes, node.intsAttribute("axes"));
  } else if (node.hasInput(1)) {
    TESSERA_ASSIGN_OR_RETURN(axes, node.integerInput(1));
  }
  TESSERA_ASSIGN_OR_RETURN(bool none,
                           node.flagAttribute("noop_with_empty_axes", false));
  std::vector<int64_t> result;
  if (axes && !axes->empty())
    result = *axes;
  else if (!none)
    for (int64_t i = 0; i < rank; ++i)
      result.push_back(i);
  for (int64_t &axis : result) {
    TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return NodeImport::error("names an axis twice");
  return result;
}

/// The element before it is summed.
static Value buildTerm(StringRef op, ImplicitLocOpBuilder &b, Value x) {
  if (op == "ReduceL1")
    return math::AbsFOp::create(b, x);
  return arith::MulFOp::create(b, x, x);
}

/// The sum to the result.
static Value buildEnd(StringRef op, ImplicitLocOpBuilder &b, Value sum,
                      int64_t count) {
  if (op == "ReduceMean")
    return buildDivision(b, sum, count);
  return op == "ReduceL2" ? math::SqrtOp::create(b, sum).getResult()
                          : math::LogOp::create(b, sum);
}

/// Reduces the axes, from 0 and ascending, to extents of 1.
static Value reduceAxes(ImplicitLocOpBuilder &b, Value value,
                        ArrayRef<int64_t> axes, Reduction reduction) {
  SmallVector<int64_t> shape(shapeOf(value));
  // From the last: the numbers of those before stay.
  for (int64_t axis : llvm::reverse(axes)) {
    value = buildReduction(b, value, axis, reduction);
    shape[axis] = 1;
  }
  return buildReshape(b, value, shape);
}

/// log of the sum of exponentials, less their maximum first.
static tessera::Result<Value>
buildLogSumExp(ImplicitLocOpBuilder &b, Value value, ArrayRef<int64_t> axes) {
  Value maximum = reduceAxes(b, value, axes, Reduction::Max);
  TESSERA_ASSIGN_OR_RETURN(
      Value exponentials,
      buildElementwise(b, {value, maximum},
                       [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                         return math::ExpOp::create(
                             b, arith::SubFOp::create(b, e[0], e[1]));
                       }));
  return buildElementwise(
      b, {reduceAxes(b, exponentials, axes, Reduction::Sum), maximum},
      [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        return arith::AddFOp::create(b, math::LogOp::create(b, e[0]), e[1]);
      });
}

/// What a reduction of no elements gives.
static double neutralElement(StringRef op, int32_t type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool largest = op == "ReduceMin";
  if (op == "ReduceMax" || largest)
    switch (type) {
    case Bool:
      return largest;
    case Uint8:
      return largest ? 255 : 0;
    case Int8:
      return largest ? 127 : -128;
    case Int32:
      return largest ? 0x7fffffff : -0x1p31;
    default:
      return largest ? infinity : -infinity;
    }
  if (op == "ReduceProd")
    return 1;
  if (op == "ReduceMean")
    return std::numeric_limits<double>::quiet_NaN();
  return op.starts_with("ReduceLog") ? -infinity : 0;
}

Status tessera::onnx::importReduction(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> own, node.inputShape(0));
  SmallVector<int64_t> shape(own.begin(), own.end());
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> axes,
                           readAxes(node, shape.size()));
  TESSERA_ASSIGN_OR_RETURN(bool keep, node.flagAttribute("keepdims", true));
  StringRef op = node.node.opType;
  if (const Tensor *constant = node.constantInput(0))
    if (std::optional<Tensor> folded =
            foldReduction(op, *constant, axes, keep)) {
      node.setConstant(0, std::move(*folded));
      return Status::success();
    }
  Reduction reduction = op == "ReduceMax"   ? Reduction::Max
                        : op == "ReduceMin" ? Reduction::Min
                                            : Reduction::Sum;
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= shape[axis];
  for (int64_t axis : llvm::reverse(axes)) {
    if (keep)
      shape[axis] = 1;
    else
      shape.erase(shape.begin() + axis);
  }
  int32_t type = node.inputType(0);
  if (product(ArrayRef(own)) == 0) {
    bool wideExtreme =
        type == Int64 && (op == "ReduceMax" || op == "ReduceMin");
    if (type == Int64 && op == "ReduceMean")
      return NodeImport::error("is the mean of no integers");
    std::vector<double> elements(product(shape), neutralElement(op, type));
    std::vector<int64_t> extremes(product(shape),
                                  op == "ReduceMin"
                                      ? std::numeric_limits<int64_t>::max()
                                      : std::numeric_limits<int64_t>::min());
    node.setConstant(0, wideExtreme
                            ? tensorOf(type, shape, ArrayRef(extremes))
                            : tensorOf(type, shape, ArrayRef(elements)));
    return Status::success();
  }
  if (op == "ReduceProd")
    return importComputedProduct(node, axes, keep);
  bool isInteger = type == Int32 || type == Int8 || type == Int64;
  if (isInteger) {
    // Only what stays in the type is exact: i8 sums would have to wrap.
    if (op == "ReduceMean" || op == "ReduceL1" || op == "ReduceL2" ||
        op.starts_with("ReduceLog") || op == "ReduceSumSquare" ||
        (type == Int8 && reduction == Reduction::Sum))
      return {StatusCode::Unsupported,
              fmt::format("reduces elements of type {}, for which the operator "
                          "is not supported",
                          elementTypeName(type))};
    TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
    value = reduceAxes(node.b, value, axes, reduction);
    node.setResult(0, buildReshape(node.b, value, shape), type);
    return Status::success();
  }
  TESSERA_ASSIGN_OR_RETURN(Value value, node.input(0));
  if (op == "ReduceLogSumExp") {
    TESSERA_ASSIGN_OR_RETURN(value, buildLogSumExp(node.b, value, axes));
    node.setResult(0, buildReshape(node.b, value, shape));
    return Status::success();
  }
  if (op == "ReduceL1" || op == "ReduceL2" || op == "ReduceSumSquare") {
    TESSERA_ASSIGN_OR_RETURN(
        value, buildElementwise(node.b, value,
                                [&](ImplicitLocOpBuilder &b, ValueRange e) {
                                  return buildTerm(op, b, e[0]);
                                }));
  }
  value = reduceAxes(node.b, value, axes, reduction);
  if (op == "ReduceMean" || op == "ReduceL2" || op == "ReduceLogSum") {
    TESSERA_ASSIGN_OR_RETURN(
        value, buildElementwise(node.b, value,
                                [&](ImplicitLocOpBuilder &b, ValueRange e) {
                                  return buildEnd(op, b, e[0], count);
                                }));
  }
  node.setResult(0, buildReshape(node.b, value, shape));
  return Status::success();
}
