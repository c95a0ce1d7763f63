//===- ImportRanking.cpp - ONNX operators that order elements -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementFunctions.h"
#include "IndexBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// The operand in a type that compares, and its ONNX type.
static tessera::Result<std::pair<Value, int32_t>> comparable(NodeImport &node) {
  int32_t type = node.inputType(0);
  if (type == Float16 || type == BFloat16 || type == Float) {
    TESSERA_ASSIGN_OR_RETURN(Value value, node.input(0));
    return std::pair(value, int32_t(Float));
  }
  TESSERA_ASSIGN_OR_RETURN(Value value, node.storedInput(0));
  if (type != Int32 && type != Int8 && type != Uint8 && type != Int64)
    return Status(
        StatusCode::Unsupported,
        fmt::format("compares elements of type {}; accepted are "
                    "float, float16, bfloat16, int64, int32, int8 and "
                    "uint8",
                    elementTypeName(type)));
  if (type == Int32 || type == Int64)
    return std::pair(value, type);
  TESSERA_ASSIGN_OR_RETURN(
      value, buildElementwise(node.b, value, node.b.getI32Type(),
                              [&](ImplicitLocOpBuilder &b, ValueRange e) {
                                return buildCast(b, e[0], type, Int32);
                              }));
  return std::pair(value, int32_t(Int32));
}

/// i32 as i64.
static Value widen(ImplicitLocOpBuilder &b, Value value) {
  return *buildElementwise(b, value, b.getI64Type(),
                           [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                             return arith::ExtSIOp::create(b, b.getI64Type(),
                                                           e[0]);
                           });
}

Status tessera::onnx::importArgExtreme(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", 0));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  TESSERA_ASSIGN_OR_RETURN(bool keep, node.flagAttribute("keepdims", true));
  TESSERA_ASSIGN_OR_RETURN(bool last,
                           node.flagAttribute("select_last_index", false));
  TESSERA_ASSIGN_OR_RETURN(auto operand, comparable(node));
  auto [value, type] = operand;
  bool isFloat = type == Float;
  ImplicitLocOpBuilder &b = node.b;
  Value extreme = buildReduction(b, value, axis,
                                 node.node.opType == "ArgMax" ? Reduction::Max
                                                              : Reduction::Min);
  SmallVector<int64_t> result(shape.begin(), shape.end());
  result.erase(result.begin() + axis);
  AffineMap identity = b.getMultiDimIdentityMap(rank),
            outer = identity.dropResult(axis);
  Type i32 = b.getI32Type();
  double neutral = last ? std::numeric_limits<int32_t>::min()
                        : std::numeric_limits<int32_t>::max();
  Value index = buildReduced(
      b, {value, extreme}, buildFilled(b, result, neutral, i32),
      {identity, outer, outer}, axis,
      [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value here;
        if (isFloat) {
          // If there is a NaN, the extreme is one: then it is looked for.
          using P = arith::CmpFPredicate;
          here = arith::OrIOp::create(
              b, arith::CmpFOp::create(b, P::OEQ, e[0], e[1]),
              arith::CmpFOp::create(b, P::UNO, e[0], e[0]));
        } else {
          here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, e[0], e[1]);
        }
        Value number = arith::SelectOp::create(b, here, buildLoopIndex(b, axis),
                                               buildNumber(b, i32, neutral));
        return last ? arith::MaxSIOp::create(b, e[2], number).getResult()
                    : arith::MinSIOp::create(b, e[2], number);
      });
  if (keep)
    result.insert(result.begin() + axis, 1);
  node.setResult(0, buildReshape(b, widen(b, index), result), Int64);
  return Status::success();
}

/// The rank of an element is the number of elements before it: those that are
/// better, and those as good with a lower index. So ranks are a permutation.
Status tessera::onnx::importTopK(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.inputShape(0));
  int64_t rank = shape.size();
  TESSERA_ASSIGN_OR_RETURN(int64_t axis, node.intAttribute("axis", -1));
  TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  TESSERA_ASSIGN_OR_RETURN(bool largest, node.flagAttribute("largest", true));
  TESSERA_RETURN_IF_ERROR(node.flagAttribute("sorted", true).status());
  int64_t count;
  if (node.opset < 10) {
    TESSERA_ASSIGN_OR_RETURN(count, node.intAttribute("k", 0));
  } else {
    TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> given, node.integerInput(1));
    if (given.size() != 1)
      return NodeImport::error("operand 1: accepted is one number");
    count = given.front();
  }
  if (count < 1 || count > shape[axis])
    return NodeImport::error(
        fmt::format("takes {} of {} elements; accepted are 1 to {}", count,
                    shape[axis], shape[axis]));
  TESSERA_ASSIGN_OR_RETURN(auto operand, comparable(node));
  auto [value, type] = operand;
  bool isFloat = type == Float;
  ImplicitLocOpBuilder &b = node.b;
  Type i32 = b.getI32Type();
  // Loops: the element's coordinates, then the element compared with.
  AffineMap self = AffineMap::get(
      rank + 1, 0, b.getMultiDimIdentityMap(rank).getResults(), b.getContext());
  SmallVector<AffineExpr> at(self.getResults());
  at[axis] = b.getAffineDimExpr(rank);
  AffineMap other = AffineMap::get(rank + 1, 0, at, b.getContext());
  Value ranks = buildReduced(
      b, {value, value}, buildFilled(b, shape, 0, i32), {self, other, self},
      rank, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value before, same;
        if (isFloat) {
          using P = arith::CmpFPredicate;
          before =
              arith::CmpFOp::create(b, largest ? P::OGT : P::OLT, e[1], e[0]);
          same = arith::CmpFOp::create(b, P::OEQ, e[1], e[0]);
        } else {
          using P = arith::CmpIPredicate;
          before =
              arith::CmpIOp::create(b, largest ? P::sgt : P::slt, e[1], e[0]);
          same = arith::CmpIOp::create(b, P::eq, e[1], e[0]);
        }
        Value earlier = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                              buildLoopIndex(b, rank),
                                              buildLoopIndex(b, axis));
        Value counts = arith::OrIOp::create(
            b, before, arith::AndIOp::create(b, same, earlier));
        return arith::AddIOp::create(b, e[2],
                                     arith::ExtUIOp::create(b, i32, counts));
      });
  // The index of the element with each rank.
  SmallVector<int64_t> result(shape.begin(), shape.end());
  result[axis] = count;
  Value index = buildReduced(
      b, {ranks}, buildFilled(b, result, 0, i32), {other, self}, rank,
      [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, e[0],
                                           buildLoopIndex(b, axis));
        return arith::AddIOp::create(
            b, e[1],
            arith::SelectOp::create(b, here, buildLoopIndex(b, rank),
                                    buildNumber(b, i32, 0)));
      });
  if (node.hasOutput(0)) {
    // Of elements that are not numbers several may have one rank.
    TESSERA_ASSIGN_OR_RETURN(Value inside,
                             buildPositions(b, index, shape[axis]));
    TESSERA_ASSIGN_OR_RETURN(Value table, node.storedInput(0));
    SmallVector<Coordinate> coordinates;
    for (int64_t dim = 0; dim < rank; ++dim)
      coordinates.push_back({dim == axis ? 0 : -1, dim});
    node.setResult(0,
                   buildRead(b, table, result, inside,
                             b.getMultiDimIdentityMap(rank), coordinates),
                   node.inputType(0));
  }
  if (node.hasOutput(1))
    node.setResult(1, widen(b, index), Int64);
  return Status::success();
}
