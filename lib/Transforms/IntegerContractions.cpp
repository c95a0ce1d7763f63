//===- IntegerContractions.cpp - Contractions of narrow integers ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerContractions.h"
#include "LinalgStructure.h"
#include "WidenedFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;

/// Whether `op` widens its operand or takes a constant from it.
static bool isWideningStep(Operation &op) {
  if (isa<arith::ExtFOp, arith::ExtSIOp>(op))
    return true;
  return isa<arith::SubIOp>(op) && matchPattern(op.getOperand(1), m_Constant());
}

/// A product whose sum `op` computes, or null.
static Operation *summedProduct(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0)
    return nullptr;
  std::optional<ReductionBody> reduction = matchReduction(op);
  if (!reduction || reduction->kind != tile::Reduction::Sum)
    return nullptr;
  Operation *product = reduction->term.getDefiningOp();
  return isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) ? product
                                                                : nullptr;
}

namespace {

struct FoldWidening : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!summedProduct(op))
      return failure();
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      if (!producer || !widens(producer))
        continue;
      if (Type narrow = getElementTypeOrSelf(producer.getInputs()[0]);
          isa<FloatType>(narrow) && !canReadNarrow(op, narrow))
        continue;
      SmallVector<AffineMap> own = producer.getIndexingMapsArray();
      if (!own[1].isPermutation() || !own[0].isProjectedPermutation(true))
        continue;
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      unsigned number = operand->getOperandNumber();
      maps[number] =
          own[0].compose(inversePermutation(own[1])).compose(maps[number]);
      // The consumer's extents must still follow from its operands.
      if (!inversePermutation(concatAffineMaps(maps, op.getContext())))
        continue;
      rewriter.modifyOpInPlace(
          op, [&] { moveInto(op, number, producer, maps, rewriter); });
      return success();
    }
    return failure();
  }

  static bool widens(linalg::GenericOp op) {
    if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
        op.getNumReductionLoops() != 0 || !op.hasPureTensorSemantics())
      return false;
    Block *body = op.getBlock();
    if (body->without_terminator().empty() ||
        !body->getArgument(1).use_empty() ||
        isa<BlockArgument>(body->getTerminator()->getOperand(0)))
      return false;
    bool narrows = true;
    for (Operation &inside : body->without_terminator())
      narrows &= isWideningStep(inside);
    return narrows && isa<arith::ExtFOp, arith::ExtSIOp>(body->front());
  }

  static void moveInto(linalg::GenericOp op, unsigned number,
                       linalg::GenericOp producer, ArrayRef<AffineMap> maps,
                       PatternRewriter &rewriter) {
    Value source = producer.getInputs()[0];
    Block *body = op.getBlock();
    BlockArgument old = body->getArgument(number);
    BlockArgument fresh = body->insertArgument(
        number, getElementTypeOrSelf(source), producer.getLoc());
    IRMapping mapping;
    mapping.map(producer.getBlock()->getArgument(0), fresh);
    OpBuilder builder = OpBuilder::atBlockBegin(body);
    for (Operation &inside : producer.getBlock()->without_terminator())
      builder.clone(inside, mapping);
    Value wide =
        mapping.lookup(producer.getBlock()->getTerminator()->getOperand(0));
    old.replaceAllUsesWith(wide);
    body->eraseArgument(number + 1);
    op->setOperand(number, source);
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    op->setLoc(rewriter.getFusedLoc({producer.getLoc(), op.getLoc()}));
  }
};

/// A factor of a product: a widened element, less a zero point.
struct Factor {
  BlockArgument element;
  APInt zeroPoint;
};

struct SplitZeroPoints : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  static std::optional<Factor> matchFactor(Value value) {
    Factor factor;
    factor.zeroPoint = APInt::getZero(32);
    if (auto shifted = value.getDefiningOp<arith::SubIOp>()) {
      if (!matchPattern(shifted.getRhs(), m_ConstantInt(&factor.zeroPoint)))
        return std::nullopt;
      value = shifted.getLhs();
    }
    auto widened = value.getDefiningOp<arith::ExtSIOp>();
    if (!widened)
      return std::nullopt;
    factor.element = dyn_cast<BlockArgument>(widened.getIn());
    if (!factor.element)
      return std::nullopt;
    return factor;
  }

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    Operation *product = summedProduct(op);
    auto type = op.getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                    : RankedTensorType();
    if (!product || !type || !type.getElementType().isInteger(32) ||
        op.getNumDpsInputs() != 2)
      return failure();
    // The old value is added once: only sums that start from 0 are split.
    auto fill = op.getOutputs()[0].getDefiningOp<linalg::FillOp>();
    if (!fill || !matchPattern(fill.getInputs()[0], m_Zero()))
      return failure();
    std::optional<Factor> left = matchFactor(product->getOperand(0)),
                          right = matchFactor(product->getOperand(1));
    // One of each operand.
    if (!left || !right ||
        left->element.getArgNumber() + right->element.getArgNumber() != 1)
      return failure();
    Factor factors[2];
    factors[left->element.getArgNumber()] = *left;
    factors[right->element.getArgNumber()] = *right;
    if (factors[0].zeroPoint.isZero() && factors[1].zeroPoint.isZero())
      return failure();

    linalg::GenericOp plain = buildProduct(op, fill.getResult(0), rewriter);
    std::optional<Contraction> contraction = matchContraction(plain);
    if (!contraction || !usesMatrixEngine(plain, *contraction)) {
      rewriter.eraseOp(plain);
      return failure();
    }
    combine(op, plain, factors, *contraction, rewriter);
    return success();
  }

  /// The sum of the products of the elements themselves.
  static linalg::GenericOp buildProduct(linalg::GenericOp op, Value init,
                                        PatternRewriter &rewriter) {
    return linalg::GenericOp::create(
        rewriter, op.getLoc(), op.getResultTypes(), op.getInputs(), init,
        op.getIndexingMapsArray(), op.getIteratorTypesArray(),
        [&](OpBuilder &builder, Location loc, ValueRange e) {
          Type wide = builder.getI32Type();
          Value product = arith::MulIOp::create(
              builder, loc, arith::ExtSIOp::create(builder, loc, wide, e[0]),
              arith::ExtSIOp::create(builder, loc, wide, e[1]));
          Value sum = arith::AddIOp::create(builder, loc, e[2], product);
          linalg::YieldOp::create(builder, loc, sum);
        });
  }

  /// The sums of operand `number` over the summed dimensions, and the map from
  /// the result's loops to them.
  static std::pair<Value, AffineMap> buildSums(linalg::GenericOp op,
                                               unsigned number,
                                               const Contraction &contraction,
                                               PatternRewriter &rewriter) {
    AffineMap map = op.getIndexingMapsArray()[number];
    SmallVector<int64_t> extents = op.getStaticLoopRanges();
    SmallVector<unsigned> kept, summed(contraction.k);
    for (unsigned dim = 0; dim < extents.size(); ++dim)
      if (map.isFunctionOfDim(dim) && !llvm::is_contained(summed, dim))
        kept.push_back(dim);
    // The loops of the sums: what is kept, then what is summed.
    MLIRContext *context = op.getContext();
    unsigned numLoops = kept.size() + summed.size();
    SmallVector<AffineExpr> renamed(extents.size(),
                                    getAffineConstantExpr(0, context));
    for (auto [position, dim] :
         llvm::enumerate(llvm::concat<unsigned>(kept, summed)))
      renamed[dim] = getAffineDimExpr(position, context);
    AffineMap elements = map.replaceDimsAndSymbols(renamed, {}, numLoops, 0);
    SmallVector<AffineExpr> outs, window;
    SmallVector<int64_t> shape, windowShape;
    for (auto [position, dim] : llvm::enumerate(kept)) {
      outs.push_back(getAffineDimExpr(position, context));
      shape.push_back(extents[dim]);
    }
    for (auto [position, dim] : llvm::enumerate(summed)) {
      window.push_back(getAffineDimExpr(kept.size() + position, context));
      windowShape.push_back(extents[dim]);
    }
    SmallVector<utils::IteratorType> iterators(kept.size(),
                                               utils::IteratorType::parallel);
    iterators.append(summed.size(), utils::IteratorType::reduction);

    Location loc = op.getLoc();
    Type wide = rewriter.getI32Type();
    Value zero =
        arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0));
    Value empty = tensor::EmptyOp::create(rewriter, loc, shape, wide);
    Value init =
        linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
    SmallVector<Value> inputs{op.getInputs()[number]};
    SmallVector<AffineMap> maps{elements};
    // The extents of a window follow from an operand that is never read.
    if (!elements.isProjectedPermutation()) {
      inputs.push_back(
          tensor::EmptyOp::create(rewriter, loc, windowShape, wide));
      maps.push_back(AffineMap::get(numLoops, 0, window, context));
    }
    maps.push_back(AffineMap::get(numLoops, 0, outs, context));
    Value sums =
        linalg::GenericOp::create(
            rewriter, loc, empty.getType(), inputs, init, maps, iterators,
            [&](OpBuilder &builder, Location at, ValueRange e) {
              Value element = arith::ExtSIOp::create(builder, at, wide, e[0]);
              linalg::YieldOp::create(
                  builder, at,
                  arith::AddIOp::create(builder, at, e.back(), element)
                      .getResult());
            })
            .getResult(0);
    SmallVector<AffineExpr> position;
    for (unsigned dim : kept)
      position.push_back(getAffineDimExpr(dim, context));
    return {sums, AffineMap::get(extents.size(), 0, position, context)};
  }

  static void combine(linalg::GenericOp op, linalg::GenericOp plain,
                      ArrayRef<Factor> factors, const Contraction &contraction,
                      PatternRewriter &rewriter) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    AffineMap out = op.getIndexingMapsArray()[2];
    SmallVector<int64_t> extents = op.getStaticLoopRanges();
    APInt constant = factors[0].zeroPoint * factors[1].zeroPoint;
    for (unsigned dim : contraction.k)
      constant *= APInt(32, extents[dim]);
    SmallVector<Value> inputs{plain.getResult(0)};
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    SmallVector<AffineMap> maps{identity};
    SmallVector<APInt> scales;
    // An operand's sums count once for each step of the other's zero point.
    for (unsigned number : {0u, 1u}) {
      const APInt &zeroPoint = factors[1 - number].zeroPoint;
      if (zeroPoint.isZero())
        continue;
      auto [sums, position] = buildSums(op, number, contraction, rewriter);
      // From loops to the result's dimensions, of which each is one loop.
      SmallVector<AffineExpr> indices;
      for (AffineExpr loop : position.getResults()) {
        AffineExpr index = rewriter.getAffineConstantExpr(0);
        for (auto [dim, expr] : llvm::enumerate(out.getResults()))
          if (expr == loop)
            index = rewriter.getAffineDimExpr(dim);
        indices.push_back(index);
      }
      inputs.push_back(sums);
      maps.push_back(
          AffineMap::get(type.getRank(), 0, indices, op.getContext()));
      scales.push_back(zeroPoint);
    }
    maps.push_back(identity);
    SmallVector<utils::IteratorType> parallel(type.getRank(),
                                              utils::IteratorType::parallel);
    Value empty =
        tensor::EmptyOp::create(rewriter, op.getLoc(), type, ValueRange());
    auto result = linalg::GenericOp::create(
        rewriter, op.getLoc(), type, inputs, empty, maps, parallel,
        [&](OpBuilder &builder, Location loc, ValueRange e) {
          auto number = [&](const APInt &value) -> Value {
            return arith::ConstantOp::create(
                builder, loc,
                builder.getIntegerAttr(builder.getI32Type(), value));
          };
          Value value = e[0];
          for (auto [i, scale] : llvm::enumerate(scales)) {
            Value part =
                arith::MulIOp::create(builder, loc, e[i + 1], number(scale));
            value = arith::SubIOp::create(builder, loc, value, part);
          }
          if (!constant.isZero())
            value =
                arith::AddIOp::create(builder, loc, value, number(constant));
          linalg::YieldOp::create(builder, loc, value);
        });
    rewriter.replaceOp(op, result.getResults());
  }
};

/// The sum of a constant over a window, as zero points of weights leave it, is
/// known: no engine sums what it does not read.
struct FoldConstantSum : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.getNumReductionLoops() == 0 ||
        op.getNumDpsInits() != 1)
      return failure();
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
    std::optional<ReductionBody> reduction = matchReduction(op);
    APInt start, step;
    if (!fill || !type.hasStaticShape() || !reduction ||
        reduction->kind != tile::Reduction::Sum ||
        !matchPattern(fill.getInputs()[0], m_ConstantInt(&start)) ||
        !matchPattern(reduction->term, m_ConstantInt(&step)) ||
        start.getBitWidth() != step.getBitWidth())
      return failure();
    uint64_t count = 1;
    for (auto [extent, kind] :
         llvm::zip_equal(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
      if (kind == utils::IteratorType::reduction)
        count *= extent;
    // Modulo the width of the type, as the sum is.
    APInt sum = start + step * APInt(64, count).zextOrTrunc(step.getBitWidth());
    Value value = arith::ConstantOp::create(
        rewriter, op.getLoc(),
        rewriter.getIntegerAttr(type.getElementType(), sum));
    Value empty = tensor::EmptyOp::create(
        rewriter, op.getLoc(), type.getShape(), type.getElementType());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, value, empty);
    return success();
  }
};

} // namespace

void tessera::populateIntegerContractionPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldConstantSum, FoldWidening, SplitZeroPoints>(
      patterns.getContext());
}
