//===- LinalgStructure.cpp - Recognising contractions and reductions -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgStructure.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tessera;

/// The block argument behind widening casts, or null.
static BlockArgument skipWidening(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::ExtSIOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

/// How the loops of a sum of products of two inputs belong to these.
static std::optional<Contraction> contractionOver(linalg::LinalgOp op,
                                                  unsigned lhs, unsigned rhs) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap out = maps.back();
  if (!out.isProjectedPermutation(/*allowZeroInResults=*/true))
    return std::nullopt;
  Contraction result;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool inA = maps[lhs].isFunctionOfDim(dim),
         inB = maps[rhs].isFunctionOfDim(dim), inOut = out.isFunctionOfDim(dim);
    if (kind == utils::IteratorType::reduction) {
      if (!inA || !inB || inOut)
        return std::nullopt;
      result.k.push_back(dim);
      continue;
    }
    if (!inOut || (!inA && !inB))
      return std::nullopt;
    (inA && inB ? result.batch : inA ? result.m : result.n).push_back(dim);
  }
  return result;
}

std::optional<Contraction> tessera::matchContraction(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() == 0 || op.hasIndexSemantics())
    return std::nullopt;
  Block *body = op.getBlock();
  std::optional<ReductionBody> reduction = matchReduction(op);
  if (!reduction || reduction->kind != tile::Reduction::Sum)
    return std::nullopt;
  Operation *product = reduction->term.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product))
    return std::nullopt;
  BlockArgument lhs = skipWidening(product->getOperand(0));
  BlockArgument rhs = skipWidening(product->getOperand(1));
  if (!lhs || !rhs || lhs == rhs || lhs.getOwner() != body ||
      rhs.getOwner() != body || lhs.getArgNumber() > 1 ||
      rhs.getArgNumber() > 1)
    return std::nullopt;

  return contractionOver(op, 0, 1);
}

/// The input behind an operand of a product: widened, and shifted by values
/// that are the same for all of its elements.
static std::optional<unsigned> shiftedInput(linalg::LinalgOp op, Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::ExtFOp>(def)) {
      value = def->getOperand(0);
      continue;
    }
    if (!isa<arith::SubIOp>(def))
      return std::nullopt;
    Value shift = def->getOperand(1);
    while (shift.getDefiningOp() &&
           isa<arith::ExtSIOp, arith::ExtUIOp>(shift.getDefiningOp()))
      shift = shift.getDefiningOp()->getOperand(0);
    auto argument = dyn_cast<BlockArgument>(shift);
    bool same =
        !argument || argument.getOwner() != op.getBlock() ||
        op.getIndexingMapsArray()[argument.getArgNumber()].getNumResults() <= 1;
    if (!same)
      return std::nullopt;
    value = def->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  if (argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= op.getNumDpsInputs())
    return std::nullopt;
  return argument.getArgNumber();
}

std::optional<ShiftedContraction>
tessera::matchShiftedContraction(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
      op.hasIndexSemantics())
    return std::nullopt;
  std::optional<ReductionBody> reduction = matchReduction(op);
  if (!reduction || reduction->kind != tile::Reduction::Sum)
    return std::nullopt;
  Operation *product = reduction->term.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product))
    return std::nullopt;
  std::optional<unsigned> lhs = shiftedInput(op, product->getOperand(0)),
                          rhs = shiftedInput(op, product->getOperand(1));
  if (!lhs || !rhs || *lhs == *rhs)
    return std::nullopt;
  std::optional<Contraction> loops = contractionOver(op, *lhs, *rhs);
  if (!loops)
    return std::nullopt;
  return ShiftedContraction{std::move(*loops), *lhs, *rhs};
}

bool tessera::usesMatrixEngine(linalg::LinalgOp op,
                               const Contraction &contraction) {
  if (auto engine = op->getAttrOfType<StringAttr>(engineAttrName))
    return engine.getValue() == "matrix";
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  auto points = [&](ArrayRef<unsigned> dims) {
    int64_t product = 1;
    for (unsigned dim : dims)
      product *= extents[dim];
    return product;
  };
  bool thin = points(contraction.m) == 1 || points(contraction.n) == 1;
  return !(thin && points(contraction.batch) > 1);
}

void tessera::keepEngines(Operation *root) {
  root->walk([](linalg::LinalgOp op) {
    if (std::optional<Contraction> contraction = matchContraction(op))
      op->setAttr(
          engineAttrName,
          StringAttr::get(op.getContext(), usesMatrixEngine(op, *contraction)
                                               ? "matrix"
                                               : "vector"));
  });
}

std::optional<ReductionBody> tessera::matchReduction(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return std::nullopt;
  Block *body = op.getBlock();
  Value old = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  Operation *combiner = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!combiner || combiner->getBlock() != body || !old.hasOneUse() ||
      *old.getUsers().begin() != combiner || combiner->getNumOperands() != 2)
    return std::nullopt;
  ReductionBody result;
  if (isa<arith::AddFOp, arith::AddIOp>(combiner))
    result.kind = tile::Reduction::Sum;
  else if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(combiner))
    result.kind = tile::Reduction::Max;
  else if (isa<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(combiner))
    result.kind = tile::Reduction::Min;
  else
    return std::nullopt;
  result.combiner = combiner;
  result.term = combiner->getOperand(combiner->getOperand(0) == old ? 1 : 0);
  return result;
}

bool tessera::isNeutral(Operation *combiner, Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    const APFloat &f = number.getValue();
    if (isa<arith::AddFOp>(combiner))
      return f.isZero();
    if (isa<arith::MaxNumFOp, arith::MinNumFOp>(combiner) && f.isNaN())
      return true;
    if (isa<arith::MaximumFOp, arith::MaxNumFOp>(combiner))
      return f.isInfinity() && f.isNegative();
    if (isa<arith::MinimumFOp, arith::MinNumFOp>(combiner))
      return f.isInfinity() && !f.isNegative();
    return false;
  }
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    const APInt &i = number.getValue();
    if (isa<arith::AddIOp>(combiner))
      return i.isZero();
    if (isa<arith::MaxSIOp>(combiner))
      return i.isMinSignedValue();
    if (isa<arith::MinSIOp>(combiner))
      return i.isMaxSignedValue();
  }
  return false;
}

TypedAttr tessera::neutralValue(tile::Reduction kind, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    if (kind == tile::Reduction::Sum)
      return FloatAttr::get(type, APFloat::getZero(semantics));
    return FloatAttr::get(
        type, APFloat::getInf(semantics, kind == tile::Reduction::Max));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  if (kind == tile::Reduction::Sum)
    return IntegerAttr::get(type, APInt::getZero(width));
  return IntegerAttr::get(type, kind == tile::Reduction::Max
                                    ? APInt::getSignedMinValue(width)
                                    : APInt::getSignedMaxValue(width));
}

bool tessera::isCopy(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0 || isa<linalg::FillOp>(op))
    return false;
  Block *body = op.getBlock();
  return body->getTerminator()->getOperand(0) == body->getArgument(0);
}

bool tessera::isEpilogue(linalg::LinalgOp op) {
  if (op.getNumReductionLoops() != 0)
    return false;
  return llvm::any_of(op.getDpsInputOperands(), [](OpOperand *operand) {
    auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
    return producer && producer->hasOneUse() && matchContraction(producer);
  });
}

std::optional<RootLoops> tessera::producerLoops(linalg::GenericOp producer,
                                                OpOperand &operand,
                                                ArrayRef<int> consumerLoops) {
  auto consumer = cast<linalg::GenericOp>(operand.getOwner());
  AffineMap use = consumer.getMatchingIndexingMap(&operand);
  AffineMap result = producer.getIndexingMapsArray().back();
  if (!use.isProjectedPermutation() || !result.isProjectedPermutation())
    return std::nullopt;
  RootLoops loops(producer.getNumLoops(), -1);
  for (auto [useExpr, resultExpr] :
       llvm::zip_equal(use.getResults(), result.getResults()))
    loops[cast<AffineDimExpr>(resultExpr).getPosition()] =
        consumerLoops[cast<AffineDimExpr>(useExpr).getPosition()];
  return loops;
}

SmallVector<std::string> tessera::nodeNames(ArrayRef<Location> locations) {
  SmallVector<std::string> names;
  auto add = [&](std::string name) {
    if (!llvm::is_contained(names, name))
      names.push_back(std::move(name));
  };
  for (Location location : locations) {
    SmallVector<std::string> positions;
    bool named = false;
    location->walk([&](Location part) {
      if (auto name = dyn_cast<NameLoc>(part)) {
        add(name.getName().str());
        named = true;
        return WalkResult::skip();
      }
      if (auto file = dyn_cast<FileLineColLoc>(part))
        positions.push_back(
            (llvm::sys::path::filename(file.getFilename().getValue()) + ":" +
             Twine(file.getLine()))
                .str());
      return WalkResult::advance();
    });
    if (!named)
      for (std::string &position : positions)
        add(std::move(position));
  }
  return names;
}
