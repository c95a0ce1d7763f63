//===- Attention.cpp ------------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "LinalgStructure.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

static Value skipFloatCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The input that a value in the body is, but for casts.
static std::optional<unsigned> inputOf(linalg::GenericOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(skipFloatCasts(value));
  if (!argument || argument.getOwner() != op.getBody() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return std::nullopt;
  return argument.getArgNumber();
}

/// What the body yields if that is an `Op`, but for casts.
template <typename Op> static Op yielded(linalg::GenericOp op) {
  return skipFloatCasts(op.getBody()->getTerminator()->getOperand(0))
      .getDefiningOp<Op>();
}

static bool isElementwise(linalg::GenericOp op) {
  return op && op.hasPureTensorSemantics() && op.getNumDpsInits() == 1 &&
         op.getNumReductionLoops() == 0 && !op.hasIndexSemantics() &&
         op.getIndexingMapsArray().back().isIdentity();
}

/// A reduction of `input` over one loop, in the order of its dimensions.
static bool isRowReduction(linalg::GenericOp op, Value input,
                           tile::Reduction kind) {
  if (!op || !op.hasPureTensorSemantics() || op.getNumDpsInputs() != 1 ||
      op.getInputs()[0] != input || op.getNumReductionLoops() != 1 ||
      !op.getIndexingMapsArray()[0].isIdentity() ||
      !op.getIndexingMapsArray()[1].isProjectedPermutation() ||
      !op.getOutputs()[0].getDefiningOp<linalg::FillOp>())
    return false;
  std::optional<ReductionBody> reduction = matchReduction(op);
  return reduction && reduction->kind == kind &&
         isa<FloatType>(getElementTypeOrSelf(op.getType(0))) &&
         inputOf(op, reduction->term) == 0;
}

std::optional<RowSoftmax>
tessera::matchRowSoftmax(linalg::GenericOp exponential) {
  if (!isElementwise(exponential) || exponential.getNumDpsInputs() != 2)
    return std::nullopt;
  auto exp = yielded<math::ExpOp>(exponential);
  auto difference =
      exp ? skipFloatCasts(exp.getOperand()).getDefiningOp<arith::SubFOp>()
          : nullptr;
  if (!difference)
    return std::nullopt;
  std::optional<unsigned> x = inputOf(exponential, difference.getLhs()),
                          m = inputOf(exponential, difference.getRhs());
  if (!x || !m || x == m)
    return std::nullopt;
  RowSoftmax result;
  result.exponential = exponential;
  SmallVector<AffineMap> maps = exponential.getIndexingMapsArray();
  result.maximum =
      exponential.getInputs()[*m].getDefiningOp<linalg::GenericOp>();
  if (!maps[*x].isIdentity() ||
      !isRowReduction(result.maximum, exponential.getInputs()[*x],
                      tile::Reduction::Max) ||
      result.rows() != maps[*m])
    return std::nullopt;
  for (Operation *user : exponential->getUsers())
    if (auto sum = dyn_cast<linalg::GenericOp>(user);
        isRowReduction(sum, exponential.getResult(0), tile::Reduction::Sum) &&
        sum.getIndexingMapsArray().back() == result.rows())
      result.sum = sum;
  if (!result.sum)
    return std::nullopt;
  SmallVector<unsigned> reduced;
  result.maximum.getReductionDims(reduced);
  result.keyLoop = reduced[0];
  return result;
}

/// From the input of a softmax back to the contraction.
static bool findScores(Attention &attention) {
  auto op = attention.softmax.input().getDefiningOp<linalg::GenericOp>();
  while (op && !matchContraction(op)) {
    if (!isElementwise(op))
      return false;
    attention.chain.push_back(op);
    // Of several operands the one that is a score; a mask may be computed too.
    linalg::GenericOp next;
    for (Value input : op.getInputs()) {
      auto producer = input.getDefiningOp<linalg::GenericOp>();
      if (!producer || !producer->hasOneUse())
        continue;
      bool isScore = matchContraction(producer).has_value();
      if (isScore || (!next && isElementwise(producer)))
        next = producer;
      if (isScore)
        break;
    }
    op = next;
  }
  std::reverse(attention.chain.begin(), attention.chain.end());
  attention.scores = op;
  return op && op.hasPureTensorSemantics() &&
         op.getOutputs()[0].getDefiningOp<linalg::FillOp>() &&
         op.getIndexingMapsArray().back().isProjectedPermutation();
}

static bool areUsersOf(Value value, ArrayRef<Operation *> users) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return llvm::is_contained(users, user);
  });
}

std::optional<Attention> tessera::matchAttention(linalg::GenericOp values) {
  std::optional<Contraction> contraction =
      values.hasPureTensorSemantics() ? matchContraction(values) : std::nullopt;
  if (!contraction || contraction->k.size() != 1 ||
      !values.getIndexingMapsArray().back().isProjectedPermutation())
    return std::nullopt;
  for (unsigned weights : {0u, 1u}) {
    Attention attention;
    attention.values = values;
    attention.weights = weights;
    auto producer =
        values.getInputs()[weights].getDefiningOp<linalg::GenericOp>();
    AffineMap map = values.getIndexingMapsArray()[weights];
    if (!isElementwise(producer) || !map.isProjectedPermutation() ||
        values.getInputs()[0] == values.getInputs()[1])
      continue;
    linalg::GenericOp exponential = producer;
    std::optional<unsigned> divisor;
    if (auto quotient = yielded<arith::DivFOp>(producer)) {
      std::optional<unsigned> e = inputOf(producer, quotient.getLhs());
      divisor = inputOf(producer, quotient.getRhs());
      if (producer.getNumDpsInputs() != 2 || !e || !divisor || e == divisor ||
          !producer->hasOneUse() ||
          !producer.getIndexingMapsArray()[*e].isIdentity())
        continue;
      attention.quotient = producer;
      exponential = producer.getInputs()[*e].getDefiningOp<linalg::GenericOp>();
    }
    std::optional<RowSoftmax> softmax =
        exponential ? matchRowSoftmax(exponential) : std::nullopt;
    if (!softmax)
      continue;
    attention.softmax = *softmax;
    if (attention.quotient) {
      if (producer.getInputs()[*divisor] != softmax->sum.getResult(0) ||
          producer.getIndexingMapsArray()[*divisor] != softmax->rows() ||
          !softmax->sum->hasOneUse())
        continue;
    }
    // The keys are what the product sums over, rows are rows of the result.
    if (map.getDimPosition(softmax->keyLoop) != contraction->k[0])
      continue;
    Operation *reader =
        attention.quotient ? attention.quotient : attention.values;
    if (!areUsersOf(exponential.getResult(0), {softmax->sum, reader}) ||
        !areUsersOf(softmax->input(), {softmax->maximum, exponential}) ||
        !softmax->maximum->hasOneUse() || !findScores(attention) ||
        llvm::is_contained(values.getInputs(), attention.scores.getResult(0)) ||
        !attention.keyDimOfValues() || !attention.keyDimOfScores())
      continue;
    return attention;
  }
  return std::nullopt;
}

SmallVector<Operation *> Attention::beforeValues() {
  SmallVector<Operation *> ops{scores};
  llvm::append_range(ops, chain);
  ops.append({softmax.maximum, softmax.exponential, softmax.sum});
  if (quotient)
    ops.push_back(quotient);
  return ops;
}

bool Attention::roundsWeights() {
  return quotient && !getElementTypeOrSelf(quotient.getType(0)).isF32();
}

AffineMap Attention::rowsOfResult() {
  SmallVector<AffineMap> maps = values.getIndexingMapsArray();
  AffineMap result = maps.back();
  MLIRContext *context = values.getContext();
  SmallVector<AffineExpr> positions;
  for (AffineExpr row : softmax.rows().getResults()) {
    unsigned loop =
        maps[weights].getDimPosition(cast<AffineDimExpr>(row).getPosition());
    positions.push_back(getAffineDimExpr(
        *result.getResultPosition(getAffineDimExpr(loop, context)), context));
  }
  return AffineMap::get(result.getNumResults(), 0, positions, context);
}

std::optional<unsigned> Attention::keyDimOfValues() {
  AffineMap map = values.getIndexingMapsArray()[1 - weights];
  unsigned key = matchContraction(values)->k[0];
  std::optional<unsigned> found;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(key))
      continue;
    if (found || !isa<AffineDimExpr>(expr))
      return std::nullopt;
    found = position;
  }
  return found;
}

std::optional<unsigned> Attention::keyDimOfScores() {
  std::optional<unsigned> dim = softmax.keyLoop;
  for (size_t i = chain.size(); dim && i-- > 0;) {
    linalg::GenericOp producer = i == 0 ? scores : chain[i - 1];
    auto operand = llvm::find(chain[i].getInputs(), producer.getResult(0));
    AffineMap map = chain[i].getIndexingMapsArray()[std::distance(
        chain[i].getInputs().begin(), operand)];
    dim = map.getResultPosition(getAffineDimExpr(*dim, map.getContext()));
  }
  return dim;
}

//===----------------------------------------------------------------------===//
// Division after the values
//===----------------------------------------------------------------------===//

/// The value in f32, and back.
static Value widened(OpBuilder &builder, Location loc, Value value) {
  return value.getType().isF32()
             ? value
             : arith::ExtFOp::create(builder, loc, builder.getF32Type(), value)
                   .getResult();
}
static Value narrowed(OpBuilder &builder, Location loc, Value value,
                      Type type) {
  return type.isF32()
             ? value
             : arith::TruncFOp::create(builder, loc, type, value).getResult();
}

void tessera::divideAfterValues(RewriterBase &rewriter, Attention &attention) {
  linalg::GenericOp quotient = attention.quotient, values = attention.values;
  if (!quotient || attention.roundsWeights())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  Location loc = rewriter.getFusedLoc({quotient.getLoc(), values.getLoc()});
  Value sum = attention.softmax.sum.getResult(0);
  rewriter.modifyOpInPlace(values, [&] {
    values->setOperand(attention.weights,
                       attention.softmax.exponential.getResult(0));
  });
  rewriter.eraseOp(quotient);
  attention.quotient = nullptr;

  rewriter.setInsertionPointAfter(values);
  auto type = cast<RankedTensorType>(values.getType(0));
  Value empty = tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  auto divide = linalg::GenericOp::create(
      rewriter, loc, type, ValueRange{values.getResult(0), sum}, empty,
      ArrayRef{identity, attention.rowsOfResult(), identity}, parallel,
      [&](OpBuilder &builder, Location bodyLoc, ValueRange arguments) {
        Value result = arith::DivFOp::create(
            builder, bodyLoc, widened(builder, bodyLoc, arguments[0]),
            widened(builder, bodyLoc, arguments[1]));
        linalg::YieldOp::create(
            builder, bodyLoc,
            narrowed(builder, bodyLoc, result, type.getElementType()));
      });
  rewriter.replaceAllUsesExcept(values.getResult(0), divide.getResult(0),
                                divide);
  // With what rounds the result, or adds to it.
  if (!divide->hasOneUse())
    return;
  OpOperand &use = *divide->use_begin();
  auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
  constexpr unsigned maxInputs = 4; // What `tile.map` takes.
  if (!isElementwise(reader) || !reader.isDpsInput(&use) ||
      reader.getNumDpsInputs() + 1 > maxInputs ||
      !linalg::areElementwiseOpsFusable(&use))
    return;
  rewriter.setInsertionPoint(reader);
  FailureOr<linalg::ElementwiseOpFusionResult> fused =
      linalg::fuseElementwiseOps(rewriter, &use);
  if (failed(fused))
    return;
  fused->fusedOp->setLoc(rewriter.getFusedLoc({loc, reader.getLoc()}));
  rewriter.replaceOp(reader, fused->replacements.lookup(reader.getResult(0)));
  if (divide->use_empty())
    rewriter.eraseOp(divide);
}
