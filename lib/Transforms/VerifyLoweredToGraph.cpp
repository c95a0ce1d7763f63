//===- VerifyLoweredToGraph.cpp - The boundary of the graph level ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYLOWEREDTOGRAPHPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

struct VerifyLoweredToGraphPass
    : tessera::impl::VerifyLoweredToGraphPassBase<VerifyLoweredToGraphPass> {
  void runOnOperation() override {
    bool good = true;
    auto stray = [&](Operation *op, StringRef where) {
      op->emitError() << "'" << op->getName() << "' is not allowed " << where;
      good = false;
    };
    for (Operation &op : getOperation().getBody().getOps()) {
      if (auto dispatch = dyn_cast<graph::DispatchOp>(op)) {
        for (Operation &inner : dispatch->getRegion(0).getOps())
          if (!isAllowedInDispatch(&inner))
            stray(&inner, "in a dispatch");
      } else if (!isAllowedBetweenDispatches(&op)) {
        stray(&op, "between dispatches");
      }
    }
    if (!good)
      signalPassFailure();
  }

  /// What moves no data: constants, destinations, reshapes.
  static bool isAllowedBetweenDispatches(Operation *op) {
    return isa<arith::ConstantOp, tensor::EmptyOp, tensor::ExpandShapeOp,
               tensor::CollapseShapeOp, func::ReturnOp>(op);
  }

  /// What the tiler can tile, and what such operations are made of.
  static bool isAllowedInDispatch(Operation *op) {
    return isa<linalg::LinalgOp, arith::ConstantOp, tensor::EmptyOp,
               tensor::PadOp, tensor::ExtractSliceOp, tensor::InsertSliceOp,
               tensor::ExpandShapeOp, tensor::CollapseShapeOp, graph::YieldOp>(
        op);
  }
};

} // namespace
