//===- DataNeeds.cpp - What a model cannot do without ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataNeeds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include <algorithm>
#include <optional>
#include <set>

using namespace mlir;
using namespace tessera;

DataNeeds::DataNeeds(func::FuncOp function) {
  SmallVector<Operation *> pending;
  function.walk([&](func::ReturnOp op) { pending.push_back(op); });
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!live.insert(op).second)
      continue;
    auto need = [&](Value value) {
      if (Operation *producer = value.getDefiningOp())
        pending.push_back(producer);
    };
    llvm::for_each(op->getOperands(), need);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::for_each(captured, need);
    op->walk([&](Operation *inner) { live.insert(inner); });
  }
}

static uint64_t elementsOf(Value value) {
  return uint64_t(cast<ShapedType>(value.getType()).getNumElements());
}

/// Distinct values of one result of an indexing map over the loops' extents;
/// a lower bound where counting them would take long.
static uint64_t distinctValues(AffineExpr expr, ArrayRef<int64_t> extents) {
  constexpr uint64_t most = 1 << 16;
  SmallVector<unsigned> dims;
  uint64_t points = 1, largest = 1;
  for (unsigned dim = 0; dim < extents.size(); ++dim)
    if (expr.isFunctionOfDim(dim)) {
      dims.push_back(dim);
      points *= uint64_t(extents[dim]);
      largest = std::max(largest, uint64_t(extents[dim]));
      if (points > most)
        return largest;
    }
  MLIRContext *context = expr.getContext();
  SmallVector<AffineExpr> at(extents.size(), getAffineConstantExpr(0, context));
  std::set<int64_t> values;
  for (uint64_t point = 0; point < points; ++point) {
    uint64_t rest = point;
    for (unsigned dim : dims) {
      at[dim] =
          getAffineConstantExpr(int64_t(rest % uint64_t(extents[dim])), context);
      rest /= uint64_t(extents[dim]);
    }
    auto value = dyn_cast<AffineConstantExpr>(expr.replaceDims(at));
    if (!value)
      return 1;
    values.insert(value.getValue());
  }
  return values.size();
}

uint64_t DataNeeds::elementsRead(OpOperand &use) const {
  Operation *op = use.getOwner();
  uint64_t all = elementsOf(use.get());
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    if (!linalgOp.payloadUsesValueFromOperand(&use))
      return 0;
    uint64_t read = 1;
    SmallVector<int64_t> extents = linalgOp.getStaticLoopRanges();
    for (AffineExpr expr :
         linalgOp.getMatchingIndexingMap(&use).getResults())
      read *= distinctValues(expr, extents);
    return std::min(read, all);
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp>(op))
    return std::min(elementsRead(op->getResult(0)), all);
  if (isa<tensor::PadOp>(op)) {
    uint64_t added = elementsOf(op->getResult(0)) - all;
    uint64_t read = elementsRead(op->getResult(0));
    return std::min(read > added ? read - added : 0, all);
  }
  return all;
}

uint64_t DataNeeds::elementsRead(Value value) const {
  uint64_t most = 0;
  for (OpOperand &use : value.getUses())
    if (isLive(use.getOwner()))
      most = std::max(most, elementsRead(use));
  return most;
}
