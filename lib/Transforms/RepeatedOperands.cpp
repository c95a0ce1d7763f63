//===- RepeatedOperands.cpp -----------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatedOperands.h"
#include "LinalgStructure.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;

namespace {

/// A loop, or a dimension of a tensor, that becomes two: `extents[0]`
/// iterations of `extents[1]` each.
struct Split {
  unsigned dim;
  int64_t extents[2];
};

} // namespace

static std::optional<Split> splitOf(tensor::CollapseShapeOp collapse) {
  std::optional<Split> found;
  RankedTensorType source = collapse.getSrcType();
  for (auto [dim, group] :
       llvm::enumerate(collapse.getReassociationIndices())) {
    if (group.size() == 1)
      continue;
    if (found || group.size() != 2)
      return std::nullopt;
    found = Split{unsigned(dim),
                  {source.getDimSize(group[0]), source.getDimSize(group[1])}};
  }
  return found;
}

/// The reassociation that takes dimension `dim` of `rank` apart.
static SmallVector<ReassociationIndices> takingApart(unsigned dim,
                                                     unsigned rank) {
  SmallVector<ReassociationIndices> groups;
  for (unsigned i = 0; i < rank; ++i) {
    if (i == dim)
      groups.push_back({int64_t(i), int64_t(i) + 1});
    else
      groups.push_back({int64_t(i) + (i > dim)});
  }
  return groups;
}

static RankedTensorType splitType(RankedTensorType type, Split split) {
  SmallVector<int64_t> shape(type.getShape());
  shape[split.dim] = split.extents[0];
  shape.insert(shape.begin() + split.dim + 1, split.extents[1]);
  return RankedTensorType::get(shape, type.getElementType());
}

/// The result of `map` that is the loop; nothing if there is none. Sets `bad`
/// if the loop is a part of another.
static std::optional<unsigned> positionOf(AffineMap map, unsigned loop,
                                          bool &bad) {
  std::optional<unsigned> position;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    bad |= position || !isa<AffineDimExpr>(expr);
    position = i;
  }
  return position;
}

/// Whether the loop of a product or an element-wise operation can become two.
static bool canSplit(linalg::GenericOp op, unsigned loop) {
  if (!op.hasPureTensorSemantics() || op.hasIndexSemantics() ||
      op.getNumDpsInits() != 1 ||
      op.getIteratorTypesArray()[loop] != utils::IteratorType::parallel)
    return false;
  bool bad = false;
  for (AffineMap map : op.getIndexingMapsArray())
    positionOf(map, loop, bad);
  return !bad && positionOf(op.getIndexingMapsArray().back(), loop, bad);
}

/// The loop that reads dimension `dim` of an operand, if it can be split.
static std::optional<unsigned> readingLoop(OpOperand &operand, unsigned dim) {
  auto op = dyn_cast<linalg::GenericOp>(operand.getOwner());
  if (!op || !op.isDpsInput(&operand))
    return std::nullopt;
  auto expr = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(&operand).getResult(dim));
  if (!expr || !canSplit(op, expr.getPosition()))
    return std::nullopt;
  return expr.getPosition();
}

/// Whether all that read the dimension are products with it in their batch, be
/// it behind operations that only move or convert elements.
static bool feedsBatches(Value value, unsigned dim) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) {
           std::optional<unsigned> loop = readingLoop(use, dim);
           if (!loop)
             return false;
           auto op = cast<linalg::GenericOp>(use.getOwner());
           if (std::optional<Contraction> contraction = matchContraction(op))
             return llvm::is_contained(contraction->batch, *loop);
           if (op.getNumDpsInputs() != 1 || op.getNumReductionLoops() != 0)
             return false;
           bool bad = false;
           std::optional<unsigned> result =
               positionOf(op.getIndexingMapsArray().back(), *loop, bad);
           return feedsBatches(op.getResult(0), *result);
         });
}

static linalg::GenericOp splitLoop(RewriterBase &rewriter, linalg::GenericOp op,
                                   unsigned loop, Split split);

/// The operand with a dimension taken apart.
static Value splitValue(RewriterBase &rewriter, Value value, Split split) {
  RankedTensorType type =
      splitType(cast<RankedTensorType>(value.getType()), split);
  Location loc = value.getLoc();
  // As matchers of what comes later expect to find them.
  if (value.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
  if (auto fill = value.getDefiningOp<linalg::FillOp>()) {
    Value empty = tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
    return linalg::FillOp::create(rewriter, loc, fill.getInputs()[0], empty)
        .getResult(0);
  }
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (collapse && collapse.getSrcType() == type &&
      collapse.getReassociationIndices() ==
          takingApart(split.dim, type.getRank() - 1))
    return collapse.getSrc();
  // A transposition stays next to its reader, which can read through it.
  if (auto copy = value.getDefiningOp<linalg::GenericOp>();
      copy && copy->hasOneUse() && isCopy(copy)) {
    auto expr = dyn_cast<AffineDimExpr>(
        copy.getIndexingMapsArray().back().getResult(split.dim));
    if (expr && canSplit(copy, expr.getPosition())) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(copy);
      return splitLoop(rewriter, copy, expr.getPosition(), split).getResult(0);
    }
  }
  return tensor::ExpandShapeOp::create(
      rewriter, loc, type, value, takingApart(split.dim, type.getRank() - 1));
}

/// The operation with a loop taken apart, and its result with the dimension of
/// that loop; the old one stays.
static linalg::GenericOp splitLoop(RewriterBase &rewriter, linalg::GenericOp op,
                                   unsigned loop, Split split) {
  MLIRContext *context = op.getContext();
  unsigned loops = op.getNumLoops();
  SmallVector<AffineExpr> replaced;
  for (unsigned i = 0; i < loops; ++i)
    replaced.push_back(getAffineDimExpr(i + (i > loop), context));
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool bad = false;
    std::optional<unsigned> position = positionOf(map, loop, bad);
    SmallVector<AffineExpr> results;
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      results.push_back(expr.replaceDims(replaced));
      if (position == i)
        results.push_back(getAffineDimExpr(loop + 1, context));
    }
    maps.push_back(AffineMap::get(loops + 1, 0, results, context));
    operands.push_back(
        position ? splitValue(rewriter, operand.get(),
                              {*position, {split.extents[0], split.extents[1]}})
                 : operand.get());
  }
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  kinds.insert(kinds.begin() + loop, utils::IteratorType::parallel);
  ArrayRef<Value> all = operands;
  auto result =
      linalg::GenericOp::create(rewriter, op.getLoc(), all.back().getType(),
                                all.drop_back(), all.take_back(), maps, kinds);
  rewriter.cloneRegionBefore(op.getRegion(), result.getRegion(),
                             result.getRegion().end());
  return result;
}

/// Splits the readers of a repetition, and their readers as far as that goes.
static void splitReaders(RewriterBase &rewriter,
                         tensor::CollapseShapeOp collapse) {
  SmallVector<tensor::CollapseShapeOp> worklist{collapse};
  while (!worklist.empty()) {
    tensor::CollapseShapeOp next = worklist.pop_back_val();
    Split split = *splitOf(next);
    // In program order, so that what one makes is there for the others.
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : next->getUses())
      uses.push_back(&use);
    llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
      return a->getOwner() != b->getOwner()
                 ? a->getOwner()->isBeforeInBlock(b->getOwner())
                 : a->getOperandNumber() < b->getOperandNumber();
    });
    SmallVector<Operation *> seen;
    for (OpOperand *use : uses) {
      std::optional<unsigned> loop = readingLoop(*use, split.dim);
      if (!loop || llvm::is_contained(seen, use->getOwner()))
        continue;
      auto op = cast<linalg::GenericOp>(use->getOwner());
      seen.push_back(op);
      rewriter.setInsertionPoint(op);
      linalg::GenericOp made = splitLoop(rewriter, op, *loop, split);
      auto type = cast<RankedTensorType>(op.getType(0));
      bool bad = false;
      unsigned dim = *positionOf(op.getIndexingMapsArray().back(), *loop, bad);
      auto result = tensor::CollapseShapeOp::create(
          rewriter, op.getLoc(), type, made.getResult(0),
          takingApart(dim, type.getRank()));
      rewriter.replaceOp(op, result);
      worklist.push_back(result);
    }
  }
}

void tessera::splitRepeatedBatches(RewriterBase &rewriter,
                                   func::FuncOp function) {
  SmallVector<tensor::CollapseShapeOp> found;
  function.walk([&](tensor::CollapseShapeOp collapse) {
    auto copy = collapse.getSrc().getDefiningOp<linalg::GenericOp>();
    std::optional<Split> split = splitOf(collapse);
    if (!split || !copy || !isCopy(copy) || !copy->hasOneUse() ||
        !copy.getIndexingMapsArray().back().isIdentity())
      return;
    // The inner one of the two is a repetition.
    AffineMap source = copy.getIndexingMapsArray()[0];
    if (source.isFunctionOfDim(split->dim) &&
        !source.isFunctionOfDim(split->dim + 1) &&
        feedsBatches(collapse, split->dim))
      found.push_back(collapse);
  });
  // One may be split as a reader of another; then nobody reads it.
  for (tensor::CollapseShapeOp collapse : found)
    if (!collapse.use_empty())
      splitReaders(rewriter, collapse);
}
