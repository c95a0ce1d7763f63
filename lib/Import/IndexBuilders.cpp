//===- IndexBuilders.cpp - Tensor code with computed positions ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexBuilders.h"
#include "ConstantMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;
using utils::IteratorType;

tessera::Result<Value> tessera::onnx::buildPositions(ImplicitLocOpBuilder &b,
                                                     Value value,
                                                     int64_t extent) {
  if (extent > std::numeric_limits<int32_t>::max())
    return Status(
        StatusCode::Unsupported,
        fmt::format("picks from {} elements; accepted are up to 2^31", extent));
  Type type = elementTypeOf(value), i32 = b.getI32Type();
  return buildElementwise(
      b, value, i32, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value zero = buildNumber(b, type, 0);
        Value size = buildNumber(b, type, static_cast<double>(extent));
        Value last = buildNumber(b, type, static_cast<double>(extent - 1));
        Value isNegative =
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, e[0], zero);
        Value position = arith::SelectOp::create(
            b, isNegative, arith::AddIOp::create(b, e[0], size), e[0]);
        position = arith::MaxSIOp::create(b, position, zero);
        position = arith::MinSIOp::create(b, position, last);
        return type == i32
                   ? position
                   : arith::TruncIOp::create(b, i32, position).getResult();
      });
}

tessera::Result<Value>
tessera::onnx::positionsInput(NodeImport &node, size_t index, int64_t extent) {
  int32_t type = node.inputType(index);
  if (type != Int64 && type != Int32)
    return NodeImport::error(fmt::format(
        "operand {} has elements of type {}; accepted are int64 and "
        "int32",
        index, elementTypeName(type)));
  if (const Tensor *constant = node.constantInput(index)) {
    std::vector<int64_t> positions = *constant->integers();
    for (int64_t &position : positions) {
      if (position < -extent || position >= extent)
        return NodeImport::error(fmt::format(
            "index {} is outside of the extent {}", position, extent));
      position += position < 0 ? extent : 0;
    }
    SmallVector<int64_t> shape(constant->shape.begin(), constant->shape.end());
    if (positions.empty())
      return NodeImport::error(
          fmt::format("operand {} has no elements", index));
    return node.buildConstant(tensorOf(Int32, shape, ArrayRef(positions)));
  }
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(index));
  return buildPositions(node.b, value, extent);
}

Value tessera::onnx::buildRead(ImplicitLocOpBuilder &b, Value table,
                               ArrayRef<int64_t> shape,
                               ArrayRef<Value> positions,
                               ArrayRef<AffineMap> maps,
                               ArrayRef<Coordinate> coordinates) {
  Value init = buildEmpty(b, shape, elementTypeOf(table));
  SmallVector<AffineMap> all(maps);
  all.push_back(b.getMultiDimIdentityMap(shape.size()));
  SmallVector<IteratorType> iterators(shape.size(), IteratorType::parallel);
  return linalg::GenericOp::create(
             b, init.getType(), positions, init, all, iterators,
             [&](OpBuilder &body, Location loc, ValueRange elements) {
               SmallVector<Value> indices;
               for (const Coordinate &coordinate : coordinates)
                 if (coordinate.operand < 0)
                   indices.push_back(
                       linalg::IndexOp::create(body, loc, coordinate.dim));
                 else
                   indices.push_back(arith::IndexCastOp::create(
                       body, loc, body.getIndexType(),
                       elements[coordinate.operand]));
               Value element =
                   tensor::ExtractOp::create(body, loc, table, indices);
               linalg::YieldOp::create(body, loc, element);
             })
      .getResult(0);
}

Value tessera::onnx::buildLoopIndex(ImplicitLocOpBuilder &b, int64_t dim) {
  return arith::IndexCastOp::create(b, b.getI32Type(),
                                    linalg::IndexOp::create(b, dim));
}

Value tessera::onnx::buildReduced(ImplicitLocOpBuilder &b,
                                  ArrayRef<Value> inputs, Value init,
                                  ArrayRef<AffineMap> maps,
                                  ArrayRef<int64_t> reduced,
                                  ElementFunction function) {
  SmallVector<IteratorType> iterators(maps.front().getNumDims(),
                                      IteratorType::parallel);
  for (int64_t dim : reduced)
    iterators[dim] = IteratorType::reduction;
  return linalg::GenericOp::create(
             b, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &body, Location loc, ValueRange elements) {
               ImplicitLocOpBuilder inner(loc, body);
               linalg::YieldOp::create(inner, function(inner, elements));
             })
      .getResult(0);
}
