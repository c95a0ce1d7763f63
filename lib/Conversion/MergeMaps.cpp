//===- MergeMaps.cpp - Reductions in the maps before them -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneProgram.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Conversion/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_MERGEMAPSPASS
#include "lib/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

static bool isElementwise(tile::MapOp map) {
  return map.getReduce() == tile::Reduction::None &&
         map.getOutputs().size() == 1;
}

/// The reduction that is the next engine operation after `map` in its block
/// and reads element by element what this computes, and nothing else.
static tile::MapOp findReduction(tile::MapOp map) {
  for (Operation *next = map->getNextNode(); next; next = next->getNextNode()) {
    if (isMemoryEffectFree(next) || llvm::isa<tile::AllocOp>(next))
      continue;
    auto reduction = dyn_cast<tile::MapOp>(next);
    if (!reduction || reduction.getReduce() == tile::Reduction::None ||
        reduction.getOutputs().size() != 1 ||
        reduction.getInputs().size() != 1 ||
        reduction.getInputs()[0] != map.getOutputs()[0] ||
        llvm::is_contained(map.getInputs(), reduction.getOutputs()[0]) ||
        reduction.getBounds() != map.getBounds() ||
        reduction.getIndexingMapsArray()[0] !=
            map.getIndexingMapsArray().back())
      return nullptr;
    return reduction;
  }
  return nullptr;
}

static tile::MapOp merge(tile::MapOp map, tile::MapOp reduction) {
  OpBuilder builder(reduction);
  SmallVector<AffineMap> maps = map.getIndexingMapsArray();
  AffineMap result = maps.pop_back_val();
  maps.append({reduction.getIndexingMapsArray()[1], result});
  SmallVector<Value> outputs{reduction.getOutputs()[0], map.getOutputs()[0]};
  auto merged = tile::MapOp::create(
      builder, builder.getFusedLoc({map.getLoc(), reduction.getLoc()}),
      map.getInputs(), outputs, reduction.getAccumulateIf(),
      builder.getAffineMapArrayAttr(maps), reduction.getIteratorTypes(),
      reduction.getBoundsAttr(), reduction.getReduceAttr(),
      reduction.getAccumulateAttr());
  Block &body = merged.getBody().emplaceBlock();
  IRMapping mapping;
  for (BlockArgument argument : map.getBody().front().getArguments())
    mapping.map(argument,
                body.addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation &op : map.getBody().front().without_terminator())
    builder.clone(op, mapping);
  Value element = mapping.lookupOrDefault(
      map.getBody().front().getTerminator()->getOperand(0));
  Block &old = reduction.getBody().front();
  mapping.map(old.getArgument(0), element);
  for (Operation &op : old.without_terminator())
    builder.clone(op, mapping);
  Value term = mapping.lookupOrDefault(old.getTerminator()->getOperand(0));
  tile::YieldOp::create(builder, reduction.getLoc(), ValueRange{term, element});
  return merged;
}

/// Whether the lanes have registers enough for it.
static bool fitsLanes(tile::MapOp map) {
  ScopedDiagnosticHandler quiet(map.getContext(),
                                [](Diagnostic &) { return success(); });
  return succeeded(buildLaneProgram(map.getBody().front()));
}

namespace {
struct MergeMapsPass : tessera::impl::MergeMapsPassBase<MergeMapsPass> {
  void runOnOperation() override {
    SmallVector<tile::MapOp> maps;
    getOperation().walk([&](tile::MapOp map) {
      if (isElementwise(map))
        maps.push_back(map);
    });
    for (tile::MapOp map : maps) {
      tile::MapOp reduction = findReduction(map);
      if (!reduction)
        continue;
      tile::MapOp merged = merge(map, reduction);
      if (!fitsLanes(merged)) {
        merged.erase();
        continue;
      }
      reduction.erase();
      map.erase();
    }
  }
};
} // namespace
