//===- Normalize.cpp - Bring a graph into a few forms ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerContractions.h"
#include "LaneNeeds.h"
#include "LinalgStructure.h"
#include "ReadThrough.h"
#include "RepeatedOperands.h"
#include "SplitInputs.h"
#include "UnitDims.h"
#include "WidenedFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_NORMALIZEPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// What `tile.map` takes.
static constexpr unsigned maxInputs = 4;

static int64_t points(linalg::LinalgOp op) {
  int64_t product = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    product *= extent;
  return product;
}

static Location fuse(RewriterBase &rewriter, Operation *first,
                     Operation *second) {
  return rewriter.getFusedLoc({first->getLoc(), second->getLoc()});
}

namespace {

/// softmax and the like become linalg operations.
struct DecomposeAggregate
    : OpInterfaceRewritePattern<linalg::AggregatedOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::AggregatedOpInterface op,
                                PatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
    if (failed(results))
      return failure();
    rewriter.replaceOp(op, *results);
    return success();
  }
};

struct Generalize : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (isa<linalg::FillOp, linalg::GenericOp>(op))
      return failure();
    return linalg::generalizeNamedOp(rewriter, op);
  }
};

/// A splat is a fill.
struct SplatToFill : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::SplatOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().hasStaticShape())
      return failure();
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), op.getType(),
                                          ValueRange());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, op.getInput(), empty);
    return success();
  }
};

/// A reshape to a constant shape becomes an expand_shape or collapse_shape, or
/// one of each through the flat shape.
struct StaticReshape : OpRewritePattern<tensor::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
    auto target = dyn_cast<RankedTensorType>(op.getType());
    if (!source || !target || !source.hasStaticShape() ||
        !target.hasStaticShape())
      return failure();
    auto flat = RankedTensorType::get({source.getNumElements()},
                                      source.getElementType());
    auto all = [](RankedTensorType type) {
      SmallVector<ReassociationIndices> groups;
      if (type.getRank() != 0)
        groups.push_back(llvm::to_vector(llvm::seq<int64_t>(type.getRank())));
      return groups;
    };
    Value value = op.getSource();
    if (source.getRank() == 0)
      value = tensor::ExpandShapeOp::create(rewriter, op.getLoc(), flat, value,
                                            ArrayRef<ReassociationIndices>());
    else if (source.getRank() != 1)
      value = tensor::CollapseShapeOp::create(rewriter, op.getLoc(), flat,
                                              value, all(source));
    if (target.getRank() == 0)
      value =
          tensor::CollapseShapeOp::create(rewriter, op.getLoc(), target, value,
                                          ArrayRef<ReassociationIndices>());
    else if (target.getRank() != 1)
      value = tensor::ExpandShapeOp::create(rewriter, op.getLoc(), target,
                                            value, all(target));
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// Padding amounts that are constants become attributes.
struct StaticPad : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::PadOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getLow().empty() && op.getHigh().empty())
      return failure();
    auto constants = [](ArrayRef<OpFoldResult> amounts) {
      return getConstantIntValues(amounts);
    };
    auto low = constants(op.getMixedLowPad()),
         high = constants(op.getMixedHighPad());
    Value value = op.getConstantPaddingValue();
    if (!low || !high || !value || !op.getType().hasStaticShape())
      return failure();
    auto toResults = [&](ArrayRef<int64_t> amounts) {
      return llvm::map_to_vector(amounts, [&](int64_t amount) -> OpFoldResult {
        return rewriter.getIndexAttr(amount);
      });
    };
    rewriter.replaceOpWithNewOp<tensor::PadOp>(
        op, op.getType(), op.getSource(), toResults(*low), toResults(*high),
        value, op.getNofold());
    return success();
  }
};

/// An element-wise operation that reads its old output reads it as an input; a
/// reduction that starts from anything but its neutral element starts from that
/// and is combined with the old value afterwards.
struct MakeInitExplicit : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1)
      return failure();
    OpOperand *init = op.getDpsInitOperand(0);
    if (!op.payloadUsesValueFromOperand(init))
      return failure();
    auto type = cast<RankedTensorType>(init->get().getType());
    if (!type.hasStaticShape())
      return failure();
    if (op.getNumReductionLoops() == 0)
      return readAsInput(op, init, type, rewriter);
    std::optional<ReductionBody> reduction = matchReduction(op);
    if (!reduction)
      return failure();
    Attribute start;
    if (auto fill = init->get().getDefiningOp<linalg::FillOp>())
      if (matchPattern(fill.getInputs()[0], m_Constant(&start)) &&
          isNeutral(reduction->combiner, start))
        return failure();

    Location loc = op.getLoc();
    Value old = init->get();
    Value neutral = arith::ConstantOp::create(
        rewriter, loc, neutralValue(reduction->kind, type.getElementType()));
    Value empty = tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
    Value filled =
        linalg::FillOp::create(rewriter, loc, neutral, empty).getResult(0);
    rewriter.setInsertionPointAfter(op);
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> parallel(type.getRank(),
                                              utils::IteratorType::parallel);
    Operation *combiner = reduction->combiner;
    auto combine = linalg::GenericOp::create(
        rewriter, loc, type, ValueRange{op.getResult(0), old}, empty,
        ArrayRef{identity, identity, identity}, parallel,
        [&](OpBuilder &builder, Location bodyLoc, ValueRange arguments) {
          Operation *clone = builder.clone(*combiner);
          clone->setOperands({arguments[1], arguments[0]});
          linalg::YieldOp::create(builder, bodyLoc, clone->getResults());
        });
    rewriter.replaceAllUsesExcept(op.getResult(0), combine.getResult(0),
                                  combine);
    rewriter.modifyOpInPlace(op, [&] { init->set(filled); });
    return success();
  }

  static LogicalResult readAsInput(linalg::GenericOp op, OpOperand *init,
                                   RankedTensorType type,
                                   PatternRewriter &rewriter) {
    SmallVector<Value> inputs(op.getInputs());
    inputs.push_back(init->get());
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps.insert(maps.end() - 1, maps.back());
    Value empty =
        tensor::EmptyOp::create(rewriter, op.getLoc(), type, ValueRange());
    auto result =
        linalg::GenericOp::create(rewriter, op.getLoc(), type, inputs, empty,
                                  maps, op.getIteratorTypesArray());
    rewriter.inlineRegionBefore(op.getRegion(), result.getRegion(),
                                result.getRegion().end());
    result.getRegion().front().addArgument(type.getElementType(), op.getLoc());
    rewriter.replaceOp(op, result.getResults());
    return success();
  }
};

/// An element-wise operation moves into its only reader if that computes
/// nothing twice and the reader can still be mapped to an engine.
struct FuseElementwise : OpRewritePattern<linalg::GenericOp> {
  /// `intoReductions`: whether readers may be reductions.
  FuseElementwise(MLIRContext *context, bool intoReductions)
      : OpRewritePattern(context), intoReductions(intoReductions) {}
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (matchContraction(op) || isReadWidening(op) ||
        (!intoReductions && op.getNumReductionLoops() != 0))
      return failure();
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
      if (!producer || !linalg::areElementwiseOpsFusable(operand) ||
          !producer->hasOneUse() || producer.getNumDpsInits() != 1 ||
          points(producer) != points(op) ||
          (op.getNumReductionLoops() != 0 && isEpilogue(producer)))
        continue;
      llvm::SmallSetVector<Value, 8> inputs;
      for (linalg::GenericOp part : {producer, op})
        for (OpOperand *input : part.getDpsInputOperands())
          if (input != operand)
            inputs.insert(input->get());
      if (inputs.size() > maxInputs ||
          !laneNeeds(*producer.getBody(), *op.getBody()).fit())
        continue;
      Location loc = fuse(rewriter, producer, op);
      FailureOr<linalg::ElementwiseOpFusionResult> fused =
          linalg::fuseElementwiseOps(rewriter, operand);
      if (failed(fused))
        continue;
      rewriter.modifyOpInPlace(fused->fusedOp,
                               [&] { fused->fusedOp->setLoc(loc); });
      for (OpResult result : op->getResults())
        rewriter.replaceAllUsesWith(result, fused->replacements.lookup(result));
      rewriter.eraseOp(op);
      return success();
    }
    return failure();
  }

  /// A widening moves into its readers instead, which then read what the
  /// producer rounded.
  static bool isReadWidening(linalg::GenericOp op) {
    return isFloatWidening(op) &&
           llvm::any_of(op->getUsers(), llvm::IsaPred<linalg::GenericOp>);
  }

  bool intoReductions;
};

struct NormalizePass : tessera::impl::NormalizePassBase<NormalizePass> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    if (failed(generalize()) || failed(dropUnitDims(getOperation())))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    splitRepeatedBatches(rewriter, getOperation());
    if (failed(fuseAndFold()) || failed(verifyForms()))
      signalPassFailure();
  }

  /// Until nothing matches any more: how often the graph is gone over grows
  /// with its depth.
  LogicalResult applyAll(RewritePatternSet patterns) {
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    return applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }

  LogicalResult generalize() {
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeAggregate, Generalize, SplatToFill, StaticPad,
                 StaticReshape>(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    // That set converts only what is illegal for a conversion target, so run it
    // greedily: each pattern checks that its operands are tensors.
    if (failed(applyAll(std::move(patterns))))
      return failure();
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : generics)
      splitInputs(rewriter, op, maxInputs);
    generics.clear();
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics)
      splitBody(rewriter, op, maxInputs);
    return success();
  }

  LogicalResult fuseAndFold() {
    MLIRContext *context = &getContext();
    {
      RewritePatternSet patterns(context);
      patterns.add<MakeInitExplicit>(context);
      tensor::populateFoldTensorEmptyPatterns(patterns);
      if (failed(applyAll(std::move(patterns))))
        return failure();
    }
    // Element-wise operations first among themselves, so that what becomes a
    // contraction's epilogue is known when reductions take in what is left.
    for (bool intoReductions : {false, true}) {
      RewritePatternSet patterns(context);
      patterns.add<MakeInitExplicit>(context);
      populateReadThroughPatterns(patterns);
      patterns.add<FuseElementwise>(context, intoReductions);
      populateIntegerContractionPatterns(patterns);
      populateFloatWideningPatterns(patterns);
      // Of the upstream set only the folds of constants and unused operands.
      linalg::populateElementwiseOpsFusionPatterns(
          patterns, [](OpOperand *) { return false; });
      tensor::populateReassociativeReshapeFoldingPatterns(patterns);
      linalg::GenericOp::getCanonicalizationPatterns(patterns, context);
      if (failed(applyAll(std::move(patterns))))
        return failure();
    }
    return success();
  }

  /// Reports everything that no later pass could map.
  LogicalResult verifyForms() {
    bool good = true;
    for (Operation &op :
         getOperation().getBody().front().without_terminator()) {
      if (failed(verifyForm(&op)))
        good = false;
    }
    return success(good);
  }

  static LogicalResult verifyForm(Operation *op) {
    for (Type type :
         llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                  llvm::to_vector(op->getResultTypes()))) {
      auto shaped = dyn_cast<ShapedType>(type);
      if (!shaped)
        continue;
      if (!shaped.hasRank() || !shaped.hasStaticShape())
        return op->emitError()
               << "'" << op->getName() << "' has the dynamic type " << type
               << "; shapes must be static";
      if (shaped.getNumElements() == 0 && !isa<tensor::EmptyOp>(op))
        return op->emitError()
               << "'" << op->getName() << "' has the empty type " << type
               << "; tensors must have elements";
    }
    if (isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp,
            tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
            tensor::ConcatOp, tensor::InsertSliceOp, tensor::ExtractSliceOp>(
            op))
      return success();
    if (auto pad = dyn_cast<tensor::PadOp>(op)) {
      if (pad.getConstantPaddingValue())
        return success();
      return op->emitError(
          "'tensor.pad' pads with values that are not one constant");
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      return op->emitError()
             << "'" << op->getName()
             << "' is not supported; would be: linalg operations, "
                "tensor.pad, concat, slices and reshapes";
    if (generic.hasIndexSemantics())
      return op->emitError(
          "uses the position in the iteration space (linalg.index), "
          "which lane programs cannot read");
    if (generic.getNumReductionLoops() != 0 && !matchReduction(generic))
      return op->emitError(
          "reduces in a way that is not supported; would be: one "
          "result, by sum, maximum or minimum");
    if (generic.getNumDpsInits() > 2)
      return op->emitError("has more than two results");
    if (generic.getNumDpsInputs() > maxInputs)
      return op->emitError()
             << "reads " << generic.getNumDpsInputs() << " tensors; at most "
             << maxInputs << " are supported in one element-wise operation";
    return success();
  }
};

} // namespace
