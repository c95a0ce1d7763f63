//===- LowerArgReductions.cpp - Reductions to a value and its index -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_LOWERARGREDUCTIONSPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using utils::IteratorType;

namespace {

/// A generic with one input and two results: the extreme element along one
/// loop, and the first index at which it stands.
struct ArgReduction {
  unsigned valueResult, indexResult;
  unsigned loop;
  bool isMax;
  /// A NaN is the extreme, else it is passed over.
  bool takesNan;
  bool isFloat;
};

} // namespace

/// The loop whose index, converted or not, `value` is.
static std::optional<unsigned> indexLoop(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (auto index = dyn_cast<linalg::IndexOp>(def))
      return index.getDim();
    if (!isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(def))
      return std::nullopt;
    value = def->getOperand(0);
  }
  return std::nullopt;
}

/// What a condition says of `element` and the old extreme: strictly more or
/// less, and what holds for NaN.
static bool matchCondition(Value condition, Value element, Value old,
                           ArgReduction &match) {
  Operation *def = condition.getDefiningOp();
  if (!def)
    return false;
  if (auto compare = dyn_cast<arith::CmpIOp>(def)) {
    match.isFloat = false;
    match.takesNan = false;
    match.isMax = compare.getPredicate() == arith::CmpIPredicate::sgt;
    return compare.getLhs() == element && compare.getRhs() == old &&
           (match.isMax || compare.getPredicate() == arith::CmpIPredicate::slt);
  }
  match.isFloat = true;
  using P = arith::CmpFPredicate;
  auto strict = [&](Value value) -> std::optional<P> {
    auto compare = value.getDefiningOp<arith::CmpFOp>();
    if (!compare || compare.getLhs() != element || compare.getRhs() != old)
      return std::nullopt;
    return compare.getPredicate();
  };
  auto isOrdered = [&](Value value) {
    auto compare = value.getDefiningOp<arith::CmpFOp>();
    return compare && compare.getPredicate() == P::ORD &&
           compare.getLhs() == old && compare.getRhs() == old;
  };
  if (std::optional<P> predicate = strict(condition)) {
    match.takesNan = false;
    match.isMax = *predicate == P::OGT;
    return match.isMax || *predicate == P::OLT;
  }
  // A NaN is taken, and then nothing else any more.
  if (auto both = dyn_cast<arith::AndIOp>(def))
    for (auto [first, second] : {std::pair(both.getLhs(), both.getRhs()),
                                 std::pair(both.getRhs(), both.getLhs())})
      if (std::optional<P> predicate = strict(first);
          predicate && isOrdered(second)) {
        match.takesNan = true;
        match.isMax = *predicate == P::UGT;
        return match.isMax || *predicate == P::ULT;
      }
  return false;
}

static std::optional<ArgReduction> matchArgReduction(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 2 ||
      op.getNumReductionLoops() != 1 || !op.hasPureTensorSemantics())
    return std::nullopt;
  auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!maps[0].isIdentity() || maps[1] != maps[2])
    return std::nullopt;
  for (unsigned which : {0u, 1u}) {
    ArgReduction match;
    match.valueResult = which;
    match.indexResult = 1 - which;
    Value element = op.getBody()->getArgument(0);
    Value oldValue = op.getBody()->getArgument(1 + which);
    Value oldIndex = op.getBody()->getArgument(2 - which);
    auto index = yield.getOperand(1 - which).getDefiningOp<arith::SelectOp>();
    if (!index || index.getFalseValue() != oldIndex)
      continue;
    std::optional<unsigned> loop = indexLoop(index.getTrueValue());
    if (!loop || op.getIteratorTypesArray()[*loop] != IteratorType::reduction ||
        !matchCondition(index.getCondition(), element, oldValue, match))
      continue;
    match.loop = *loop;
    // The value: the same choice, or the extreme itself.
    Operation *value = yield.getOperand(which).getDefiningOp();
    auto choice = dyn_cast_or_null<arith::SelectOp>(value);
    bool same = choice && choice.getCondition() == index.getCondition() &&
                choice.getTrueValue() == element &&
                choice.getFalseValue() == oldValue;
    bool extreme =
        value &&
        (match.isMax
             ? isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(value)
             : isa<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(value));
    if (same || extreme)
      return match;
  }
  return std::nullopt;
}

/// One reduction along the loop of `match`.
static Value
reduce(IRRewriter &rewriter, linalg::GenericOp op, ValueRange inputs,
       ArrayRef<AffineMap> maps, Value init,
       llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  return linalg::GenericOp::create(
             rewriter, op.getLoc(), init.getType(), inputs, init, maps,
             op.getIteratorTypesArray(),
             [&](OpBuilder &builder, Location loc, ValueRange e) {
               linalg::YieldOp::create(builder, loc, body(builder, loc, e));
             })
      .getResult(0);
}

static Value filled(IRRewriter &rewriter, Location loc, Value like,
                    TypedAttr value) {
  auto type = cast<RankedTensorType>(like.getType());
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, type.getShape(), value.getType());
  Value scalar = arith::ConstantOp::create(rewriter, loc, value);
  return linalg::FillOp::create(rewriter, loc, scalar, empty).getResult(0);
}

static void lower(IRRewriter &rewriter, linalg::GenericOp op,
                  const ArgReduction &match) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value input = op.getInputs()[0];
  Value oldValue = op.getOutputs()[match.valueResult],
        oldIndex = op.getOutputs()[match.indexResult];
  Type element = getElementTypeOrSelf(input);
  Type indexType = getElementTypeOrSelf(oldIndex);
  AffineMap whole = op.getIndexingMapsArray()[0],
            outer = op.getIndexingMapsArray()[1];
  // The extreme of the elements alone, from the neutral element.
  TypedAttr neutral;
  if (match.isFloat)
    neutral = rewriter.getFloatAttr(
        element, APFloat::getInf(cast<FloatType>(element).getFloatSemantics(),
                                 match.isMax));
  else
    neutral = rewriter.getIntegerAttr(
        element,
        match.isMax
            ? APInt::getSignedMinValue(element.getIntOrFloatBitWidth())
            : APInt::getSignedMaxValue(element.getIntOrFloatBitWidth()));
  Value extreme = reduce(
      rewriter, op, input, {whole, outer},
      filled(rewriter, loc, oldValue, neutral),
      [&](OpBuilder &b, Location at, ValueRange e) -> Value {
        if (!match.isFloat)
          return match.isMax
                     ? arith::MaxSIOp::create(b, at, e[1], e[0]).getResult()
                     : arith::MinSIOp::create(b, at, e[1], e[0]);
        if (match.takesNan)
          return match.isMax
                     ? arith::MaximumFOp::create(b, at, e[1], e[0]).getResult()
                     : arith::MinimumFOp::create(b, at, e[1], e[0]);
        return match.isMax
                   ? arith::MaxNumFOp::create(b, at, e[1], e[0]).getResult()
                   : arith::MinNumFOp::create(b, at, e[1], e[0]);
      });
  Type i32 = rewriter.getI32Type();
  TypedAttr none = rewriter.getIntegerAttr(i32, APInt::getSignedMaxValue(32));
  Value first = reduce(
      rewriter, op, {input, extreme}, {whole, outer, outer},
      filled(rewriter, loc, oldIndex, none),
      [&](OpBuilder &b, Location at, ValueRange e) -> Value {
        Value here;
        if (!match.isFloat) {
          here = arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, e[0],
                                       e[1]);
        } else {
          using P = arith::CmpFPredicate;
          here = arith::CmpFOp::create(b, at, P::OEQ, e[0], e[1]);
          if (match.takesNan)
            here = arith::OrIOp::create(
                b, at, here, arith::CmpFOp::create(b, at, P::UNO, e[0], e[0]));
        }
        Value index = arith::IndexCastOp::create(
            b, at, i32, linalg::IndexOp::create(b, at, match.loop));
        Value never = arith::ConstantOp::create(b, at, none);
        return arith::MinSIOp::create(
            b, at, e[2], arith::SelectOp::create(b, at, here, index, never));
      });
  // What was there before stays where nothing exceeds it.
  auto type = cast<RankedTensorType>(oldIndex.getType());
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<IteratorType> parallel(type.getRank(), IteratorType::parallel);
  auto choose =
      [&](ValueRange inputs, Value like,
          llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
        auto likeType = cast<RankedTensorType>(like.getType());
        Value empty = tensor::EmptyOp::create(
            rewriter, loc, likeType.getShape(), likeType.getElementType());
        SmallVector<AffineMap> maps(inputs.size() + 1, identity);
        return linalg::GenericOp::create(
                   rewriter, loc, empty.getType(), inputs, empty, maps,
                   parallel,
                   [&](OpBuilder &builder, Location at, ValueRange e) {
                     linalg::YieldOp::create(builder, at, body(builder, at, e));
                   })
            .getResult(0);
      };
  auto exceeds = [&](OpBuilder &b, Location at, Value found,
                     Value old) -> Value {
    if (!match.isFloat)
      return arith::CmpIOp::create(b, at,
                                   match.isMax ? arith::CmpIPredicate::sgt
                                               : arith::CmpIPredicate::slt,
                                   found, old);
    using P = arith::CmpFPredicate;
    P predicate = match.takesNan ? (match.isMax ? P::UGT : P::ULT)
                                 : (match.isMax ? P::OGT : P::OLT);
    Value more = arith::CmpFOp::create(b, at, predicate, found, old);
    if (!match.takesNan)
      return more;
    return arith::AndIOp::create(
        b, at, more, arith::CmpFOp::create(b, at, P::ORD, old, old));
  };
  Value index =
      choose({extreme, first, oldValue, oldIndex}, oldIndex,
             [&](OpBuilder &b, Location at, ValueRange e) -> Value {
               Value number = e[1];
               if (indexType.getIntOrFloatBitWidth() > 32)
                 number = arith::ExtSIOp::create(b, at, indexType, number);
               else if (indexType != i32)
                 number = arith::TruncIOp::create(b, at, indexType, number);
               return arith::SelectOp::create(b, at, exceeds(b, at, e[0], e[2]),
                                              number, e[3]);
             });
  Value value = choose({extreme, oldValue}, oldValue,
                       [&](OpBuilder &b, Location at, ValueRange e) -> Value {
                         return arith::SelectOp::create(
                             b, at, exceeds(b, at, e[0], e[1]), e[0], e[1]);
                       });
  SmallVector<Value> results(2);
  results[match.valueResult] = value;
  results[match.indexResult] = index;
  rewriter.replaceOp(op, results);
}

namespace {
struct LowerArgReductionsPass
    : tessera::impl::LowerArgReductionsPassBase<LowerArgReductionsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics)
      if (std::optional<ArgReduction> match = matchArgReduction(op))
        lower(rewriter, op, *match);
  }
};
} // namespace
