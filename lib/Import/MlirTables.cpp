//===- MlirTables.cpp - Numbers that loop indices alone decide ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bodies compute with their loop's indices: how many elements of a window lie
// inside, and a multiplier and a shift that divide by that number, in 64 bits.
// What lanes cannot do there is done while importing, for every index, and
// becomes a constant operand.
//
//===----------------------------------------------------------------------===//

#include "MlirImport.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tessera;

/// Of one table.
static constexpr int64_t maxElements = 1 << 16;

namespace {
/// The values of a body that indices alone decide, with the dimensions they
/// depend on.
class IndexValues {
public:
  explicit IndexValues(linalg::GenericOp op)
      : extents(op.getStaticLoopRanges()) {
    for (Operation &def : op.getBody()->without_terminator())
      add(def);
  }
  /// Those to tabulate: what lanes can hold, but not compute, and with these
  /// what others read.
  SmallVector<Value> tables() const;
  ArrayRef<unsigned> dimsOf(Value value) const {
    return values.find(value)->second.dims;
  }
  /// The value at each index of its dimensions, in row-major order; nothing if
  /// it does not fold.
  std::optional<SmallVector<Attribute>> evaluate(Value value) const;

private:
  struct Known {
    SmallVector<unsigned> dims; ///< Ascending.
    bool isHard = false;        ///< Held by lanes, but not computed.
    bool needsHard = false;     ///< Made of such values.
  };
  void add(Operation &def);
  Attribute valueAt(Value value, ArrayRef<int64_t> indices,
                    llvm::DenseMap<Value, Attribute> &found) const;

  SmallVector<int64_t> extents;
  llvm::MapVector<Value, Known> values;
};
} // namespace

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

void IndexValues::add(Operation &def) {
  if (def.getNumResults() != 1 || def.getNumRegions() != 0)
    return;
  Known known;
  if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    known.dims.push_back(index.getDim());
  } else {
    if (def.getNumOperands() == 0 || !isMemoryEffectFree(&def))
      return;
    for (Value operand : def.getOperands()) {
      auto from = values.find(operand);
      if (from == values.end()) {
        if (!isConstant(operand))
          return;
        continue;
      }
      llvm::append_range(known.dims, from->second.dims);
      known.needsHard |= from->second.needsHard || from->second.isHard;
    }
    if (known.dims.empty())
      return;
    llvm::sort(known.dims);
    known.dims.erase(llvm::unique(known.dims), known.dims.end());
    auto isWide = [](Type type) { return type.isInteger(64); };
    Type type = def.getResult(0).getType();
    known.isHard =
        type.isIntOrFloat() && !isWide(type) &&
        (llvm::any_of(def.getOperandTypes(), isWide) ||
         isa<math::CountLeadingZerosOp, arith::DivUIOp, arith::RemUIOp>(def));
  }
  values[def.getResult(0)] = known;
}

SmallVector<Value> IndexValues::tables() const {
  SmallVector<Value> found, simple;
  for (const auto &[value, known] : values) {
    auto isReadBy = [&](llvm::function_ref<bool(Value)> function) {
      return llvm::any_of(value.getUsers(), [&](Operation *user) {
        return user->getNumResults() != 1 || function(user->getResult(0));
      });
    };
    // Where wide integers alone read it, it is part of their computation.
    if (known.isHard &&
        isReadBy([](Value result) { return !result.getType().isInteger(64); }))
      found.push_back(value);
    // Else each index that the others need would be an operand, too.
    if (!known.isHard && !known.needsHard && value.getType().isIntOrFloat() &&
        !value.getType().isInteger(64) &&
        isReadBy([&](Value result) { return !values.count(result); }))
      simple.push_back(value);
  }
  if (!found.empty())
    found.append(simple);
  return found;
}

Attribute IndexValues::valueAt(Value value, ArrayRef<int64_t> indices,
                               llvm::DenseMap<Value, Attribute> &found) const {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant;
  if (auto known = found.find(value); known != found.end())
    return known->second;
  Operation *def = value.getDefiningOp();
  if (auto index = dyn_cast<linalg::IndexOp>(def)) {
    constant = IntegerAttr::get(value.getType(), indices[index.getDim()]);
  } else {
    SmallVector<OpFoldResult> results;
    // Folding in place, as of operands that change sides, gives no results.
    for (int attempt = 0; attempt < 4 && results.empty(); ++attempt) {
      SmallVector<Attribute> operands;
      for (Value operand : def->getOperands()) {
        operands.push_back(valueAt(operand, indices, found));
        if (!operands.back())
          return {};
      }
      if (failed(def->fold(operands, results)))
        return {};
    }
    if (results.empty())
      return {};
    constant = dyn_cast<Attribute>(results.front());
    // One of the operands, as it is.
    if (auto same = dyn_cast<Value>(results.front()))
      constant = valueAt(same, indices, found);
  }
  found[value] = constant;
  return constant;
}

std::optional<SmallVector<Attribute>> IndexValues::evaluate(Value value) const {
  ArrayRef<unsigned> dims = dimsOf(value);
  int64_t count = 1;
  for (unsigned dim : dims)
    if (ShapedType::isDynamic(extents[dim]) ||
        (count *= extents[dim]) > maxElements)
      return std::nullopt;
  SmallVector<Attribute> elements;
  for (int64_t position = 0; position < count; ++position) {
    SmallVector<int64_t> indices(extents.size(), 0);
    int64_t rest = position;
    for (unsigned dim : llvm::reverse(dims)) {
      indices[dim] = rest % extents[dim];
      rest /= extents[dim];
    }
    llvm::DenseMap<Value, Attribute> found;
    Attribute element = valueAt(value, indices, found);
    if (!element)
      return std::nullopt;
    elements.push_back(element);
  }
  return elements;
}

/// The operation with a table as one more input in place of `value`.
static linalg::GenericOp addTable(linalg::GenericOp op, Value value,
                                  ArrayRef<unsigned> dims,
                                  ArrayRef<Attribute> elements) {
  OpBuilder builder(op);
  SmallVector<int64_t> shape, extents = op.getStaticLoopRanges();
  SmallVector<AffineExpr> positions;
  for (unsigned dim : dims) {
    shape.push_back(extents[dim]);
    positions.push_back(builder.getAffineDimExpr(dim));
  }
  auto type = RankedTensorType::get(shape, value.getType());
  Value table = arith::ConstantOp::create(
      builder, op.getLoc(), DenseElementsAttr::get(type, elements));
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.insert(
      maps.begin() + inputs.size(),
      AffineMap::get(extents.size(), 0, positions, builder.getContext()));
  inputs.push_back(table);
  unsigned place = inputs.size() - 1;
  auto fresh = linalg::GenericOp::create(
      builder, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray());
  fresh.getRegion().takeBody(op.getRegion());
  value.replaceAllUsesWith(
      fresh.getBody()->insertArgument(place, value.getType(), op.getLoc()));
  op.replaceAllUsesWith(fresh.getResults());
  op.erase();
  return fresh;
}

void tessera::tabulateIndexValues(func::FuncOp entry) {
  SmallVector<linalg::GenericOp> ops;
  entry.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops) {
    IndexValues values(op);
    SmallVector<
        std::tuple<Value, SmallVector<unsigned>, SmallVector<Attribute>>>
        tables;
    for (Value value : values.tables())
      if (auto elements = values.evaluate(value))
        tables.emplace_back(value, values.dimsOf(value), *elements);
    for (const auto &[value, dims, elements] : tables)
      op = addTable(op, value, dims, elements);
    if (tables.empty())
      continue;
    // What only the tables' values needed, users first.
    SmallVector<Operation *> defs;
    for (Operation &def : op.getBody()->without_terminator())
      defs.push_back(&def);
    for (Operation *def : llvm::reverse(defs))
      if (isOpTriviallyDead(def))
        def->erase();
  }
}
