//===- TensorBuilders.cpp - Common pieces of tensor code ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

ArrayRef<int64_t> tessera::onnx::shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

std::string tessera::onnx::shapeText(ArrayRef<int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

Status tessera::onnx::checkShape(ArrayRef<int64_t> shape) {
  constexpr int64_t maxElements = int64_t(1) << 40;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 1)
      return {
          StatusCode::InvalidArgument,
          fmt::format("the shape {} has the extent {}; accepted are extents "
                      "of at least 1",
                      shapeText(shape), extent)};
    if (extent > maxElements / count)
      return {StatusCode::InvalidArgument,
              fmt::format("the shape {} has more than 2^40 elements",
                          shapeText(shape))};
    count *= extent;
  }
  return Status::success();
}

int64_t tessera::onnx::product(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

Value tessera::onnx::buildScalar(ImplicitLocOpBuilder &b, float value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

Value tessera::onnx::buildDivision(ImplicitLocOpBuilder &b, Value sum,
                                   int64_t count) {
  if (std::has_single_bit(static_cast<uint64_t>(count)))
    return arith::MulFOp::create(
        b, sum, buildScalar(b, 1.0f / static_cast<float>(count)));
  return arith::DivFOp::create(b, sum,
                               buildScalar(b, static_cast<float>(count)));
}

Type tessera::onnx::elementTypeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

Value tessera::onnx::buildNumber(ImplicitLocOpBuilder &b, Type type,
                                 double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(
      b, b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value tessera::onnx::buildEmpty(ImplicitLocOpBuilder &b,
                                ArrayRef<int64_t> shape, Type element) {
  return tensor::EmptyOp::create(b, shape, element ? element : b.getF32Type());
}

Value tessera::onnx::buildFilled(ImplicitLocOpBuilder &b,
                                 ArrayRef<int64_t> shape, double value,
                                 Type element) {
  Value scalar = buildNumber(b, element ? element : b.getF32Type(), value);
  return linalg::FillOp::create(b, scalar, buildEmpty(b, shape, element))
      .getResult(0);
}

Value tessera::onnx::buildPad(ImplicitLocOpBuilder &b, Value value,
                              unsigned firstDim, ArrayRef<int64_t> low,
                              ArrayRef<int64_t> high, double element) {
  if (llvm::all_of(low, [](int64_t v) { return v == 0; }) &&
      llvm::all_of(high, [](int64_t v) { return v == 0; }))
    return value;
  SmallVector<int64_t> shape(shapeOf(value));
  SmallVector<OpFoldResult> lows(shape.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> highs = lows;
  for (size_t i = 0; i < low.size(); ++i) {
    lows[firstDim + i] = b.getIndexAttr(low[i]);
    highs[firstDim + i] = b.getIndexAttr(high[i]);
    shape[firstDim + i] += low[i] + high[i];
  }
  Type type = elementTypeOf(value);
  return tensor::PadOp::create(b, RankedTensorType::get(shape, type), value,
                               lows, highs, buildNumber(b, type, element));
}

Value tessera::onnx::buildReshape(ImplicitLocOpBuilder &b, Value value,
                                  ArrayRef<int64_t> shape) {
  auto from = cast<RankedTensorType>(value.getType());
  auto to = RankedTensorType::get(shape, from.getElementType());
  if (from == to)
    return value;
  if (from.getRank() == 0)
    return tensor::ExpandShapeOp::create(b, to, value,
                                         ArrayRef<ReassociationIndices>());
  if (to.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, to, value,
                                           ArrayRef<ReassociationIndices>());
  if (auto indices = getReassociationIndicesForReshape(from, to)) {
    if (from.getRank() > to.getRank())
      return tensor::CollapseShapeOp::create(b, to, value, *indices);
    return tensor::ExpandShapeOp::create(b, to, value, *indices);
  }
  // Neither splits nor joins dimensions: by way of one dimension.
  Value flat = buildReshape(b, value, {from.getNumElements()});
  return buildReshape(b, flat, shape);
}

Value tessera::onnx::buildTranspose(ImplicitLocOpBuilder &b, Value value,
                                    ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(value)[dim]);
  Value init = buildEmpty(b, shape, elementTypeOf(value));
  return linalg::TransposeOp::create(b, value, init, permutation)->getResult(0);
}

//===-- Element by element ------------------------------------------------===//

/// A linalg.generic over `shape`, parallel but for `reduced`.
static Value buildGeneric(ImplicitLocOpBuilder &b, ArrayRef<Value> inputs,
                          Value init, ArrayRef<AffineMap> maps,
                          ArrayRef<IteratorType> iterators,
                          onnx::ElementFunction function) {
  return linalg::GenericOp::create(
             b, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &body, Location loc, ValueRange elements) {
               ImplicitLocOpBuilder inner(loc, body);
               linalg::YieldOp::create(inner, function(inner, elements));
             })
      .getResult(0);
}

tessera::Result<SmallVector<int64_t>>
tessera::onnx::broadcastShapes(ArrayRef<Value> operands) {
  size_t rank = 0;
  for (Value operand : operands)
    rank = std::max(rank, shapeOf(operand).size());
  SmallVector<int64_t> shape(rank, 1);
  for (Value operand : operands) {
    ArrayRef<int64_t> own = shapeOf(operand);
    for (size_t i = 0; i < own.size(); ++i) {
      int64_t &extent = shape[rank - own.size() + i];
      if (own[i] != 1 && extent != 1 && own[i] != extent)
        return Status(StatusCode::InvalidArgument,
                      fmt::format("the shapes {} and {} do not broadcast",
                                  shapeText(shapeOf(operands.front())),
                                  shapeText(own)));
      extent = std::max(extent, own[i]);
    }
  }
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  return shape;
}

/// The value of a constant with one element, or null.
static TypedAttr oneElement(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) ||
      elements.getNumElements() != 1)
    return TypedAttr();
  return cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

tessera::Result<Value>
tessera::onnx::buildElementwise(ImplicitLocOpBuilder &b,
                                ArrayRef<Value> operands, Type element,
                                ElementFunction function) {
  TESSERA_ASSIGN_OR_RETURN(SmallVector<int64_t> shape,
                           broadcastShapes(operands));
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<TypedAttr> scalars;
  for (Value operand : operands) {
    scalars.push_back(operands.size() > 1 ? oneElement(operand) : TypedAttr());
    if (scalars.back())
      continue;
    ArrayRef<int64_t> own = shapeOf(operand);
    SmallVector<AffineExpr> indices;
    for (size_t i = 0; i < own.size(); ++i) {
      size_t dim = shape.size() - own.size() + i;
      indices.push_back(own[i] == shape[dim] ? b.getAffineDimExpr(dim)
                                             : b.getAffineConstantExpr(0));
    }
    inputs.push_back(operand);
    maps.push_back(AffineMap::get(shape.size(), 0, indices, b.getContext()));
  }
  maps.push_back(b.getMultiDimIdentityMap(shape.size()));
  SmallVector<IteratorType> iterators(shape.size(), IteratorType::parallel);
  return buildGeneric(
      b, inputs, buildEmpty(b, shape, element), maps, iterators,
      [&](ImplicitLocOpBuilder &inner, ValueRange elements) {
        SmallVector<Value> all;
        size_t next = 0;
        for (TypedAttr scalar : scalars)
          all.push_back(
              scalar ? arith::ConstantOp::create(inner, scalar).getResult()
                     : elements[next++]);
        return function(inner, all);
      });
}

tessera::Result<Value>
tessera::onnx::buildElementwise(ImplicitLocOpBuilder &b,
                                ArrayRef<Value> operands,
                                ElementFunction function) {
  return buildElementwise(b, operands, b.getF32Type(), function);
}

tessera::Result<Value> tessera::onnx::buildBroadcast(ImplicitLocOpBuilder &b,
                                                     Value value,
                                                     ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  Type element = elementTypeOf(value);
  // The empty tensor only lends its shape.
  TESSERA_ASSIGN_OR_RETURN(
      SmallVector<int64_t> common,
      broadcastShapes({value, buildEmpty(b, shape, element)}));
  SmallVector<AffineExpr> indices;
  ArrayRef<int64_t> own = shapeOf(value);
  for (size_t i = 0; i < own.size(); ++i) {
    size_t dim = common.size() - own.size() + i;
    indices.push_back(own[i] == common[dim] ? b.getAffineDimExpr(dim)
                                            : b.getAffineConstantExpr(0));
  }
  SmallVector<AffineMap> maps{
      AffineMap::get(common.size(), 0, indices, b.getContext()),
      b.getMultiDimIdentityMap(common.size())};
  SmallVector<IteratorType> iterators(common.size(), IteratorType::parallel);
  return buildGeneric(
      b, value, buildEmpty(b, common, element), maps, iterators,
      [](ImplicitLocOpBuilder &, ValueRange e) -> Value { return e[0]; });
}

Value tessera::onnx::buildAlongDim(ImplicitLocOpBuilder &b, Value value,
                                   Value operand, unsigned dim,
                                   ElementFunction function) {
  size_t rank = shapeOf(value).size();
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps{
      identity, AffineMap::get(rank, 0, b.getAffineDimExpr(dim)), identity};
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  return buildGeneric(b, {value, operand},
                      buildEmpty(b, shapeOf(value), elementTypeOf(value)), maps,
                      iterators, function);
}

//===-- Reductions --------------------------------------------------------===//

Value tessera::onnx::buildReduction(ImplicitLocOpBuilder &b, Value value,
                                    unsigned dim, Reduction reduction) {
  SmallVector<int64_t> shape(shapeOf(value));
  size_t rank = shape.size();
  shape.erase(shape.begin() + dim);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps{identity, identity.dropResult(dim)};
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators[dim] = IteratorType::reduction;
  Type element = elementTypeOf(value);
  bool isFloat = isa<FloatType>(element);
  double lowest = isFloat
                      ? -std::numeric_limits<double>::infinity()
                      : -std::ldexp(1.0, element.getIntOrFloatBitWidth() - 1);
  double neutral = reduction == Reduction::Sum   ? 0
                   : reduction == Reduction::Max ? lowest
                   : isFloat                     ? -lowest
                                                 : -lowest - 1;
  return buildGeneric(
      b, value, buildFilled(b, shape, neutral, element), maps, iterators,
      [&](ImplicitLocOpBuilder &inner, ValueRange e) -> Value {
        switch (reduction) {
        case Reduction::Sum:
          return isFloat ? arith::AddFOp::create(inner, e[1], e[0]).getResult()
                         : arith::AddIOp::create(inner, e[1], e[0]);
        case Reduction::Max:
          return isFloat
                     ? arith::MaximumFOp::create(inner, e[1], e[0]).getResult()
                     : arith::MaxSIOp::create(inner, e[1], e[0]);
        case Reduction::Min:
          return isFloat
                     ? arith::MinimumFOp::create(inner, e[1], e[0]).getResult()
                     : arith::MinSIOp::create(inner, e[1], e[0]);
        }
        llvm_unreachable("every reduction has a case");
      });
}

Value tessera::onnx::buildAcrossDim(ImplicitLocOpBuilder &b, Value value,
                                    Value reduced, unsigned dim,
                                    ElementFunction function) {
  size_t rank = shapeOf(value).size();
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps{identity, identity.dropResult(dim), identity};
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  return buildGeneric(b, {value, reduced}, buildEmpty(b, shapeOf(value)), maps,
                      iterators, function);
}
