//===- IndexExpressions.cpp - What a body computes from loop indices ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexExpressions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

Type tessera::laneType(Type type) {
  return isa<IndexType>(type) ? IntegerType::get(type.getContext(), 32) : type;
}

std::optional<llvm::SmallBitVector> IndexExpressions::loopsOf(Value value) {
  if (auto known = loops.find(value); known != loops.end())
    return known->second;
  std::optional<llvm::SmallBitVector> result;
  Operation *def = value.getDefiningOp();
  if (def &&
      (def->getBlock() != op.getBody() || matchPattern(value, m_Constant()))) {
    // A constant, in the body or outside; anything else outside is unknown.
    if (matchPattern(value, m_Constant()))
      result = llvm::SmallBitVector(op.getNumLoops());
  } else if (auto index = dyn_cast_or_null<linalg::IndexOp>(def)) {
    result = llvm::SmallBitVector(op.getNumLoops());
    result->set(index.getDim());
  } else if (def && isPure(def) && def->getNumRegions() == 0 &&
             !isa<tensor::ExtractOp>(def)) {
    result = llvm::SmallBitVector(op.getNumLoops());
    for (Value operand : def->getOperands()) {
      std::optional<llvm::SmallBitVector> part = loopsOf(operand);
      if (!part) {
        result.reset();
        break;
      }
      *result |= *part;
    }
  }
  loops[value] = result;
  return result;
}

llvm::SmallBitVector IndexExpressions::allLoopsOf(Value value) {
  llvm::SmallBitVector result(op.getNumLoops());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != op.getBody())
      return result;
    AffineMap map = op.getIndexingMapsArray()[argument.getArgNumber()];
    for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
      if (map.isFunctionOfDim(dim))
        result.set(dim);
    return result;
  }
  if (std::optional<llvm::SmallBitVector> known = loopsOf(value))
    return *known;
  Operation *def = value.getDefiningOp();
  if (def->getBlock() == op.getBody())
    for (Value operand : def->getOperands())
      result |= allLoopsOf(operand);
  return result;
}

Attribute
IndexExpressions::evaluateAt(Value value, int64_t index,
                             llvm::DenseMap<Value, Attribute> &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Attribute result;
  Operation *def = value.getDefiningOp();
  if (matchPattern(value, m_Constant(&result))) {
  } else if (isa<linalg::IndexOp>(def)) {
    result = IntegerAttr::get(value.getType(), index);
  } else {
    SmallVector<Attribute> operands;
    for (Value operand : def->getOperands()) {
      operands.push_back(evaluateAt(operand, index, known));
      if (!operands.back())
        return Attribute();
    }
    SmallVector<OpFoldResult> folded;
    if (failed(def->fold(operands, folded)) || folded.empty())
      return Attribute();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto attribute = dyn_cast<Attribute>(folded[number]))
      result = attribute;
    else
      result = evaluateAt(cast<Value>(folded[number]), index, known);
  }
  return known[value] = result;
}

std::optional<SmallVector<TypedAttr>> IndexExpressions::evaluate(Value value) {
  llvm::SmallBitVector own = *loopsOf(value);
  int64_t count = own.none() ? 1 : op.getStaticLoopRanges()[own.find_first()];
  // More would be data, not a table.
  constexpr int64_t maxCount = 1 << 22;
  if (own.count() > 1 || count > maxCount)
    return std::nullopt;
  SmallVector<TypedAttr> results;
  for (int64_t index = 0; index < count; ++index) {
    llvm::DenseMap<Value, Attribute> known;
    auto result = dyn_cast_or_null<TypedAttr>(evaluateAt(value, index, known));
    if (!result || !isa<IntegerAttr, FloatAttr>(result))
      return std::nullopt;
    results.push_back(result);
  }
  return results;
}

Value BodyCopy::copy(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  assert(def && "every block argument has been mapped");
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant))) {
    Type type = laneType(value.getType());
    if (isa<IndexType>(value.getType()))
      constant = IntegerAttr::get(type, cast<IntegerAttr>(constant).getInt());
    Value result = arith::ConstantOp::create(builder, loc, type,
                                             cast<TypedAttr>(constant));
    mapping.map(value, result);
    return result;
  }
  SmallVector<Value> operands;
  for (Value operand : def->getOperands())
    operands.push_back(copy(operand));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(def)) {
    Type to = laneType(value.getType());
    Value from = operands.front();
    unsigned have = from.getType().getIntOrFloatBitWidth(),
             want = to.getIntOrFloatBitWidth();
    if (have > want)
      from = arith::TruncIOp::create(builder, loc, to, from);
    else if (have < want && isa<arith::IndexCastOp>(def))
      from = arith::ExtSIOp::create(builder, loc, to, from);
    else if (have < want)
      from = arith::ExtUIOp::create(builder, loc, to, from);
    mapping.map(value, from);
    return from;
  }
  OperationState state(def->getLoc(), def->getName());
  state.addOperands(operands);
  for (Type type : def->getResultTypes())
    state.addTypes(laneType(type));
  state.addAttributes(def->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = def->getPropertiesAsAttribute();
  Operation *made = builder.create(state);
  mapping.map(def->getResults(), made->getResults());
  return mapping.lookup(value);
}
