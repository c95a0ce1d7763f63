//===- RegisterPasses.cpp - The graph passes by name and in order ----------===//
//-----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Transforms/GraphPasses.h"

namespace tessera {
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Graph/GraphPasses.h.inc"
} // namespace tessera

void tessera::addGraphPasses(mlir::OpPassManager &manager) {
  mlir::OpPassManager &function = manager.nest<mlir::func::FuncOp>();
  function.addPass(createFoldBatchNorm());
  function.addPass(createFoldConstantLayouts());
}

void tessera::registerGraphPasses() { registerGraphLevelPasses(); }
