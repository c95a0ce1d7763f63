//===- UnitDims.cpp - Shapes without dimensions of one element ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnitDims.h"
#include "LinalgStructure.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tessera;

/// Of these loops the ones of one iteration, but the last if all are.
static void addUnits(ArrayRef<unsigned> loops, ArrayRef<int64_t> extents,
                     SmallVector<unsigned> &units) {
  bool allUnits =
      llvm::all_of(loops, [&](unsigned loop) { return extents[loop] == 1; });
  for (unsigned loop : allUnits && !loops.empty() ? loops.drop_back() : loops)
    if (extents[loop] == 1)
      units.push_back(loop);
}

/// Loops in sums of several: without one of them the extents of a window's
/// operand would no longer follow from those of the loops.
static llvm::SmallBitVector findWindowLoops(linalg::GenericOp op) {
  llvm::SmallBitVector loops(op.getNumLoops());
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr, AffineConstantExpr>(expr))
        expr.walk([&](AffineExpr part) {
          if (auto dim = dyn_cast<AffineDimExpr>(part))
            loops.set(dim.getPosition());
        });
  return loops;
}

/// The loops of an operation, or dimensions of a padding, that may go.
static SmallVector<unsigned> findUnitDims(Operation *op) {
  SmallVector<unsigned> units;
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    for (auto [dim, extent] : llvm::enumerate(pad.getSourceType().getShape()))
      if (extent == 1 && pad.getResultType().getDimSize(dim) == 1)
        units.push_back(dim);
    return units;
  }
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.hasIndexSemantics() || generic.hasDynamicShape())
    return units;
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  if (std::optional<Contraction> contraction = matchContraction(generic)) {
    for (unsigned loop : contraction->batch)
      if (extents[loop] == 1)
        units.push_back(loop);
    // A row of each product stays one, unless no matrix engine computes it.
    if (usesMatrixEngine(generic, *contraction)) {
      addUnits(contraction->m, extents, units);
      addUnits(contraction->n, extents, units);
    } else {
      for (unsigned loop :
           llvm::concat<unsigned>(contraction->m, contraction->n))
        if (extents[loop] == 1)
          units.push_back(loop);
    }
    addUnits(contraction->k, extents, units);
    llvm::SmallBitVector windows = findWindowLoops(generic);
    llvm::erase_if(units, [&](unsigned loop) { return windows.test(loop); });
    llvm::sort(units);
    return units;
  }
  llvm::SmallBitVector windows = findWindowLoops(generic);
  for (auto [loop, extent] : llvm::enumerate(extents))
    if (extent == 1 && !windows.test(loop))
      units.push_back(loop);
  // A row stays a row, as in a product of one row by a matrix.
  if (extents.size() - units.size() < 2 && !units.empty() &&
      (units.size() == extents.size() || extents.back() != 1))
    units.pop_back();
  return units;
}

LogicalResult tessera::dropUnitDims(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  linalg::ControlDropUnitDims options;
  options.controlFn = findUnitDims;
  {
    RewritePatternSet patterns(context);
    linalg::populateFoldUnitExtentDimsPatterns(patterns, options);
    walkAndApplyPatterns(function, std::move(patterns));
  }
  RewritePatternSet patterns(context);
  linalg::populateFoldUnitExtentDimsCanonicalizationPatterns(patterns, options);
  GreedyRewriteConfig config;
  config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
  return applyPatternsGreedily(function, std::move(patterns), config);
}
