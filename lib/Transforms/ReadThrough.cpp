//===- ReadThrough.cpp ----------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadThrough.h"
#include "LinalgStructure.h"

using namespace mlir;
using namespace tessera;

std::optional<AffineMap> tessera::positionsInSource(linalg::GenericOp move) {
  AffineMap source = move.getIndexingMapsArray()[0];
  AffineMap target = move.getIndexingMapsArray()[1];
  if (!target.isPermutation() || !source.isProjectedPermutation(true))
    return std::nullopt;
  return source.compose(inversePermutation(target));
}

std::optional<AffineMap>
tessera::positionsInSource(tensor::ExpandShapeOp expansion) {
  RankedTensorType result = expansion.getResultType();
  if (!result.hasStaticShape())
    return std::nullopt;
  MLIRContext *context = expansion.getContext();
  SmallVector<AffineExpr> positions;
  for (const ReassociationIndices &group :
       expansion.getReassociationIndices()) {
    AffineExpr position = getAffineConstantExpr(0, context);
    unsigned large = 0;
    for (int64_t dim : group)
      if (result.getDimSize(dim) != 1) {
        position = getAffineDimExpr(dim, context);
        ++large;
      }
    if (large > 1)
      return std::nullopt;
    positions.push_back(position);
  }
  return AffineMap::get(result.getRank(), 0, positions, context);
}

std::optional<SmallVector<AffineMap>>
tessera::mapsReadingSource(linalg::GenericOp reader, OpOperand &operand,
                           AffineMap positions) {
  SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
  AffineMap &map = maps[operand.getOperandNumber()];
  map = positions.compose(map);
  if (!inversePermutation(concatAffineMaps(maps, reader.getContext())))
    return std::nullopt;
  return maps;
}

namespace {

/// A reader of a broadcast or transposition reads its operand instead, with
/// another map.
struct FoldCopy : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return failure();
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto copy = operand->get().getDefiningOp<linalg::GenericOp>();
      if (!copy || !isCopy(copy) || !copy.hasPureTensorSemantics())
        continue;
      std::optional<AffineMap> positions = positionsInSource(copy);
      if (!positions)
        continue;
      auto maps = mapsReadingSource(op, *operand, *positions);
      if (!maps)
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        operand->set(copy.getDpsInputOperand(0)->get());
        op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(*maps));
        op->setLoc(rewriter.getFusedLoc({copy->getLoc(), op->getLoc()}));
      });
      return success();
    }
    return failure();
  }
};

/// A normalisation that is spelled out reduces rows to [n, 1] and reads that
/// along the row: it reads the [n] that was computed. Only of results that
/// operations compute: a group can take these in.
struct FoldUnitExpansion : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || matchContraction(op))
      return failure();
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto expansion = operand->get().getDefiningOp<tensor::ExpandShapeOp>();
      if (!expansion || !expansion.getSrc().getDefiningOp<linalg::GenericOp>())
        continue;
      std::optional<AffineMap> positions = positionsInSource(expansion);
      if (!positions)
        continue;
      auto maps = mapsReadingSource(op, *operand, *positions);
      if (!maps)
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        operand->set(expansion.getSrc());
        op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(*maps));
      });
      return success();
    }
    return failure();
  }
};

} // namespace

void tessera::populateReadThroughPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldCopy, FoldUnitExpansion>(patterns.getContext());
}
