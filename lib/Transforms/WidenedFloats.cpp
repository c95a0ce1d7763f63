//===- WidenedFloats.cpp --------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WidenedFloats.h"
#include "ReadThrough.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;

bool tessera::isFloatWidening(linalg::LinalgOp op) {
  if (!isa<linalg::GenericOp>(op) || !op.hasPureTensorSemantics() ||
      op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0)
    return false;
  Block *body = op.getBlock();
  auto widen =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::ExtFOp>();
  return widen && widen.getIn() == body->getArgument(0);
}

Value tessera::convertFloats(OpBuilder &builder, Location loc, Value value,
                             Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  bool wider = element.getIntOrFloatBitWidth() >
               type.getElementType().getIntOrFloatBitWidth();
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), element);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), value, empty,
             ArrayRef{identity, identity}, parallel,
             [&](OpBuilder &body, Location bodyLoc, ValueRange arguments) {
               Value result = wider ? arith::ExtFOp::create(
                                          body, bodyLoc, element, arguments[0])
                                          .getResult()
                                    : arith::TruncFOp::create(
                                          body, bodyLoc, element, arguments[0])
                                          .getResult();
               linalg::YieldOp::create(body, bodyLoc, result);
             })
      .getResult(0);
}

FloatAttr tessera::roundedPadding(tensor::PadOp pad, FloatType element,
                                  bool exactly) {
  Value padding = pad.getConstantPaddingValue();
  FloatAttr constant;
  if (!padding || !matchPattern(padding, m_Constant(&constant)))
    return nullptr;
  APFloat value = constant.getValue();
  bool inexact = false;
  value.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &inexact);
  if (inexact && exactly)
    return nullptr;
  return FloatAttr::get(element, value);
}

static linalg::GenericOp wideningOf(Value value) {
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  return generic && isFloatWidening(generic) ? generic : nullptr;
}

bool tessera::canReadNarrow(linalg::GenericOp op, Type narrow) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() < 2)
    return true;
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    // The window of a pooling gives its shape alone.
    if (op.getMatchingBlockArgument(operand).use_empty())
      return true;
    Value input = operand->get();
    Type own = getElementTypeOrSelf(input);
    if (!isa<FloatType>(own) || own == narrow)
      return true;
    linalg::GenericOp widening = wideningOf(input);
    return widening && getElementTypeOrSelf(widening.getInputs()[0]) == narrow;
  });
}

namespace {

/// The narrow tensor of a widening that moves no element.
Value narrowSource(Value value) {
  linalg::GenericOp widening = wideningOf(value);
  if (!widening ||
      !llvm::all_of(widening.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  return widening.getInputs()[0];
}

struct WidenInReader : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    return readThrough(
        op, rewriter,
        [&](Value value) -> std::optional<ElementSource> {
          linalg::GenericOp widening = wideningOf(value);
          if (!widening ||
              !canReadNarrow(op, getElementTypeOrSelf(widening.getInputs()[0])))
            return std::nullopt;
          return sourceOf(widening);
        },
        [&](OpOperand &operand, Operation *widening) {
          BlockArgument argument = op.getMatchingBlockArgument(&operand);
          Type wide = argument.getType();
          argument.setType(getElementTypeOrSelf(operand.get()));
          rewriter.setInsertionPointToStart(op.getBody());
          auto extension = arith::ExtFOp::create(rewriter, widening->getLoc(),
                                                 wide, argument);
          rewriter.replaceAllUsesExcept(argument, extension, extension);
        });
  }
};

/// Padding with a constant that the narrow format holds.
struct WidenAfterPad : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::PadOp op,
                                PatternRewriter &rewriter) const override {
    Value narrow = narrowSource(op.getSource());
    if (!narrow)
      return failure();
    auto element = cast<FloatType>(getElementTypeOrSelf(narrow));
    FloatAttr padding = roundedPadding(op, element, /*exactly=*/true);
    if (!padding)
      return failure();
    Value narrowPadding =
        arith::ConstantOp::create(rewriter, op.getLoc(), padding);
    Value padded = tensor::PadOp::create(
        rewriter, op.getLoc(), op.getType().clone(element), narrow,
        op.getMixedLowPad(), op.getMixedHighPad(), narrowPadding,
        op.getNofold());
    rewriter.replaceOp(op, convertFloats(rewriter, op.getLoc(), padded,
                                         op.getType().getElementType()));
    return success();
  }
};

/// Operations that take elements of operand 0 as they are.
template <typename Op> struct WidenAfterMove : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Value narrow = narrowSource(op->getOperand(0));
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (!narrow || !type.hasStaticShape())
      return failure();
    Operation *moved = rewriter.clone(*op);
    rewriter.modifyOpInPlace(moved, [&] {
      moved->setOperand(0, narrow);
      moved->getResult(0).setType(type.clone(getElementTypeOrSelf(narrow)));
    });
    rewriter.replaceOp(op,
                       convertFloats(rewriter, op.getLoc(), moved->getResult(0),
                                     type.getElementType()));
    return success();
  }
};

/// Parts that are all widened from one type.
struct WidenAfterConcat : OpRewritePattern<tensor::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (Value input : op.getInputs()) {
      Value narrow = narrowSource(input);
      if (!narrow || (!parts.empty() && getElementTypeOrSelf(narrow) !=
                                            getElementTypeOrSelf(parts[0])))
        return failure();
      parts.push_back(narrow);
    }
    Value joined =
        tensor::ConcatOp::create(rewriter, op.getLoc(), op.getDim(), parts);
    rewriter.replaceOp(op, convertFloats(rewriter, op.getLoc(), joined,
                                         op.getType().getElementType()));
    return success();
  }
};

} // namespace

void tessera::populateFloatWideningPatterns(RewritePatternSet &patterns) {
  patterns.add<WidenInReader, WidenAfterPad, WidenAfterConcat,
               WidenAfterMove<tensor::ExtractSliceOp>,
               WidenAfterMove<tensor::ExpandShapeOp>,
               WidenAfterMove<tensor::CollapseShapeOp>>(patterns.getContext(),
                                                        /*benefit=*/2);
}
