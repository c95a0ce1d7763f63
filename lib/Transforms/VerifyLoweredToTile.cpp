//===- VerifyLoweredToTile.cpp - The boundary of the tile level -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Device/DeviceDialect.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYLOWEREDTOTILEPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

struct VerifyLoweredToTilePass
    : tessera::impl::VerifyLoweredToTilePassBase<VerifyLoweredToTilePass> {
  void runOnOperation() override {
    bool good = true;
    auto stray = [&](Operation *op) {
      op->emitError() << "'" << op->getName()
                      << "' is not an operation of the tile level";
      good = false;
    };
    for (Operation &op : *getOperation().getBody()) {
      if (isa<device::ProgramOp>(op))
        continue; // Its verifier admits device operations only.
      auto kernel = dyn_cast<tile::KernelOp>(op);
      if (!kernel) {
        stray(&op);
        continue;
      }
      kernel.getBody().walk([&](Operation *inner) {
        // What lane programs may contain is checked where they are made.
        if (inner->getParentOfType<tile::MapOp>())
          return;
        if (!isAllowed(inner))
          stray(inner);
      });
    }
    if (!good)
      signalPassFailure();
  }

  static bool isAllowed(Operation *op) {
    if (isa<tile::TileDialect>(op->getDialect()))
      return !isa<tile::KernelOp>(op);
    if (isa<arith::ArithDialect>(op->getDialect()))
      return llvm::all_of(op->getResultTypes(), [](Type type) {
        return type.isIndex() || type.isInteger(1);
      });
    return isa<memref::SubViewOp, scf::ForOp, scf::IfOp, scf::YieldOp,
               affine::AffineApplyOp>(op);
  }
};

} // namespace
