//===- SplitInputs.cpp - Element-wise operations of many inputs -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitInputs.h"
#include "LaneNeeds.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

namespace {
/// A value of a body with all that it is computed from.
struct Part {
  Value value;
  llvm::SetVector<Operation *> operations; ///< In program order at the end.
  llvm::SetVector<BlockArgument> arguments;
};
} // namespace

/// The part that ends in `op`; nullopt if it reads what a reduction keeps.
static std::optional<Part> partOf(linalg::GenericOp generic, Operation *op) {
  Part part;
  part.value = op->getResult(0);
  SmallVector<Value> worklist{part.value};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getArgNumber() >= generic.getNumDpsInputs())
        return std::nullopt;
      part.arguments.insert(argument);
      continue;
    }
    Operation *def = value.getDefiningOp();
    if (def->getBlock() == generic.getBody() && part.operations.insert(def))
      llvm::append_range(worklist, def->getOperands());
  }
  return part;
}

/// How many arguments nothing but the part reads.
static unsigned argumentsSaved(const Part &part) {
  return llvm::count_if(part.arguments, [&](BlockArgument argument) {
    return llvm::all_of(argument.getUsers(), [&](Operation *user) {
      return part.operations.contains(user);
    });
  });
}

/// Moves the part into an operation of its own.
static linalg::GenericOp split(RewriterBase &rewriter, linalg::GenericOp op,
                               Part &part) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<AffineMap> old = op.getIndexingMapsArray();
  // Over the loops that the part's operands have.
  unsigned loops = op.getNumLoops();
  llvm::SmallBitVector used(loops);
  for (BlockArgument argument : part.arguments)
    for (unsigned loop = 0; loop < loops; ++loop)
      if (old[argument.getArgNumber()].isFunctionOfDim(loop))
        used.set(loop);
  SmallVector<unsigned> kept(used.set_bits_begin(), used.set_bits_end());
  SmallVector<AffineExpr> renamed(loops, rewriter.getAffineConstantExpr(0)),
      result;
  SmallVector<int64_t> extents = op.getStaticLoopRanges(), shape;
  for (auto [number, loop] : llvm::enumerate(kept)) {
    renamed[loop] = rewriter.getAffineDimExpr(number);
    result.push_back(rewriter.getAffineDimExpr(loop));
    shape.push_back(extents[loop]);
  }
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (BlockArgument argument : part.arguments) {
    inputs.push_back(op->getOperand(argument.getArgNumber()));
    maps.push_back(old[argument.getArgNumber()].replaceDimsAndSymbols(
        renamed, {}, kept.size(), 0));
  }
  maps.push_back(rewriter.getMultiDimIdentityMap(kept.size()));
  Value init =
      tensor::EmptyOp::create(rewriter, loc, shape, part.value.getType());
  SmallVector<Operation *> operations(part.operations.begin(),
                                      part.operations.end());
  llvm::sort(operations,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  auto first = linalg::GenericOp::create(
      rewriter, loc, init.getType(), inputs, init, maps,
      SmallVector<utils::IteratorType>(kept.size(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &body, Location at, ValueRange e) {
        IRMapping mapping;
        for (auto [number, argument] : llvm::enumerate(part.arguments))
          mapping.map(argument, e[number]);
        for (Operation *operation : operations)
          body.clone(*operation, mapping);
        linalg::YieldOp::create(body, at, mapping.lookup(part.value));
      });

  SmallVector<Value> rest(op.getInputs());
  SmallVector<AffineMap> restMaps = old;
  unsigned number = rest.size();
  rest.push_back(first.getResult(0));
  restMaps.insert(restMaps.begin() + number,
                  AffineMap::get(loops, 0, result, rewriter.getContext()));
  auto second = linalg::GenericOp::create(rewriter, loc, op.getResultTypes(),
                                          rest, op.getOutputs(), restMaps,
                                          op.getIteratorTypesArray());
  rewriter.inlineRegionBefore(op.getRegion(), second.getRegion(),
                              second.getRegion().end());
  Block &body = second.getRegion().front();
  Value argument = body.insertArgument(number, part.value.getType(), loc);
  rewriter.replaceAllUsesWith(part.value, argument);
  for (Operation *operation : llvm::reverse(operations))
    if (operation->use_empty())
      rewriter.eraseOp(operation);
  rewriter.replaceOp(op, second.getResults());
  // Operands that only the first part reads.
  SmallVector<Value> needed;
  SmallVector<AffineMap> neededMaps;
  llvm::BitVector dead(body.getNumArguments());
  for (unsigned i = 0; i < rest.size(); ++i) {
    if (body.getArgument(i).use_empty()) {
      dead.set(i);
      continue;
    }
    needed.push_back(rest[i]);
    neededMaps.push_back(restMaps[i]);
  }
  neededMaps.append(restMaps.begin() + rest.size(), restMaps.end());
  // The loops' extents must still follow from the operands.
  if (dead.none() ||
      !inversePermutation(concatAffineMaps(neededMaps, rewriter.getContext())))
    return second;
  rewriter.setInsertionPoint(second);
  auto third = linalg::GenericOp::create(
      rewriter, loc, second.getResultTypes(), needed, second.getOutputs(),
      neededMaps, second.getIteratorTypesArray());
  body.eraseArguments(dead);
  rewriter.inlineRegionBefore(second.getRegion(), third.getRegion(),
                              third.getRegion().end());
  rewriter.replaceOp(second, third.getResults());
  return third;
}

void tessera::splitInputs(RewriterBase &rewriter, linalg::GenericOp op,
                          unsigned maxInputs) {
  while (op.getNumDpsInputs() > maxInputs && op.hasPureTensorSemantics() &&
         !op.hasIndexSemantics()) {
    std::optional<Part> best;
    unsigned saved = 1; // The part's result is one operand more.
    for (Operation &candidate : op.getBody()->without_terminator()) {
      if (candidate.getNumResults() != 1)
        continue;
      std::optional<Part> part = partOf(op, &candidate);
      if (!part || part->arguments.size() > maxInputs)
        continue;
      if (unsigned own = argumentsSaved(*part); own > saved) {
        best = std::move(part);
        saved = own;
      }
    }
    if (!best)
      return;
    op = split(rewriter, op, *best);
  }
}

/// The operations of the part that nothing but the part needs, its last one
/// among them.
static llvm::SmallPtrSet<Operation *, 32> ownOperations(const Part &part) {
  SmallVector<Operation *> operations(part.operations.begin(),
                                      part.operations.end());
  llvm::sort(operations,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  llvm::SmallPtrSet<Operation *, 32> own;
  for (Operation *operation : llvm::reverse(operations))
    if (operation == part.value.getDefiningOp() ||
        llvm::all_of(operation->getUsers(),
                     [&](Operation *user) { return own.contains(user); }))
      own.insert(operation);
  return own;
}

/// The inputs of the operation without those that the part's own operations
/// alone read, and with the part's result.
static unsigned inputsOfRest(linalg::GenericOp op,
                             const llvm::SmallPtrSet<Operation *, 32> &own) {
  unsigned count = 1;
  for (unsigned i = 0; i < op.getNumDpsInputs(); ++i)
    count += llvm::any_of(op.getBody()->getArgument(i).getUsers(),
                          [&](Operation *user) { return !own.contains(user); });
  return count;
}

void tessera::splitBody(RewriterBase &rewriter, linalg::GenericOp op,
                        unsigned maxInputs) {
  while (laneNeeds(*op.getBody()).exceed() && op.hasPureTensorSemantics() &&
         !op.hasIndexSemantics() && op.getNumReductionLoops() == 0) {
    std::optional<Part> best;
    size_t most = 3; // Less is not worth a tensor.
    for (Operation &candidate : op.getBody()->without_terminator()) {
      if (candidate.getNumResults() != 1 || candidate.getNumOperands() == 0)
        continue;
      std::optional<Part> part = partOf(op, &candidate);
      if (!part || part->arguments.empty() ||
          part->arguments.size() > maxInputs)
        continue;
      SmallVector<Operation *> operations(part->operations.begin(),
                                          part->operations.end());
      llvm::sort(operations, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
      auto own = ownOperations(*part);
      if (own.size() <= most || inputsOfRest(op, own) > maxInputs ||
          !laneNeeds(operations, part->value).fit())
        continue;
      most = own.size();
      best = std::move(part);
    }
    if (!best)
      return;
    op = split(rewriter, op, *best);
  }
}
