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

std::optional<ElementSource> tessera::sourceOf(linalg::GenericOp move) {
  AffineMap source = move.getIndexingMapsArray()[0];
  AffineMap target = move.getIndexingMapsArray()[1];
  if (!target.isPermutation() || !source.isProjectedPermutation(true))
    return std::nullopt;
  return ElementSource{move.getDpsInputOperand(0)->get(),
                       source.compose(inversePermutation(target)), move};
}

std::optional<ElementSource>
tessera::sourceOf(tensor::ExpandShapeOp expansion) {
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
  return ElementSource{expansion.getSrc(),
                       AffineMap::get(result.getRank(), 0, positions, context),
                       expansion};
}

/// The indexing maps of `reader` if `operand` were the source itself; nullopt
/// if an extent of its loops would no longer follow from its operands.
static std::optional<SmallVector<AffineMap>>
mapsReadingSource(linalg::GenericOp reader, OpOperand &operand,
                  AffineMap positions) {
  SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
  AffineMap &map = maps[operand.getOperandNumber()];
  map = positions.compose(map);
  if (!inversePermutation(concatAffineMaps(maps, reader.getContext())))
    return std::nullopt;
  return maps;
}

LogicalResult
tessera::readThrough(linalg::GenericOp reader, PatternRewriter &rewriter,
                     function_ref<std::optional<ElementSource>(Value)> find,
                     function_ref<void(OpOperand &, Operation *)> adapt) {
  if (!reader.hasPureTensorSemantics())
    return failure();
  for (OpOperand *operand : reader.getDpsInputOperands()) {
    std::optional<ElementSource> source = find(operand->get());
    if (!source)
      continue;
    auto maps = mapsReadingSource(reader, *operand, source->positions);
    if (!maps)
      continue;
    rewriter.modifyOpInPlace(reader, [&] {
      operand->set(source->tensor);
      reader.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(*maps));
      adapt(*operand, source->move);
    });
    return success();
  }
  return failure();
}

namespace {

/// A reader of a broadcast or transposition reads its operand instead, with
/// another map.
struct FoldCopy : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    return readThrough(
        op, rewriter,
        [](Value value) -> std::optional<ElementSource> {
          auto copy = value.getDefiningOp<linalg::GenericOp>();
          if (!copy || !isCopy(copy) || !copy.hasPureTensorSemantics())
            return std::nullopt;
          return sourceOf(copy);
        },
        [&](OpOperand &, Operation *copy) {
          op->setLoc(rewriter.getFusedLoc({copy->getLoc(), op->getLoc()}));
        });
  }
};

/// A normalisation that is spelled out reduces rows to [n, 1] and reads that
/// along the row: it reads the [n] that was computed. Only of results that
/// operations compute: a group can take these in.
struct FoldUnitExpansion : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (matchContraction(op))
      return failure();
    return readThrough(
        op, rewriter,
        [](Value value) -> std::optional<ElementSource> {
          auto expansion = value.getDefiningOp<tensor::ExpandShapeOp>();
          if (!expansion ||
              !expansion.getSrc().getDefiningOp<linalg::GenericOp>())
            return std::nullopt;
          return sourceOf(expansion);
        },
        [](OpOperand &, Operation *) {});
  }
};

} // namespace

void tessera::populateReadThroughPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldCopy, FoldUnitExpansion>(patterns.getContext());
}
