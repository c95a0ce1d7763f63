//===- Passes.cpp - Pass sequences -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tessera::addFormDispatchesPasses(OpPassManager &manager) {
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(createLowerArgReductionsPass());
  function.addPass(createNarrowIntegersPass());
  function.addPass(createLowerIndexingPass());
  function.addPass(createNormalizePass());
  function.addPass(createChannelsLastPass());
  function.addPass(createFormDispatchesPass());
  function.addPass(createVerifyLoweredToGraphPass());
}

void tessera::addLowerToTilePasses(OpPassManager &manager, StringRef arch,
                                   const PlanOptions &plans) {
  TileDispatchesPassOptions options;
  options.arch = arch.str();
  options.plans = plans.book;
  options.candidate = plans.candidate;
  manager.addNestedPass<func::FuncOp>(createTileDispatchesPass(options));
  manager.addPass(createBufferizeDispatchesPass());
  ConvertToTilePassOptions conversion;
  conversion.arch = arch.str();
  manager.addPass(createConvertToTilePass(conversion));
  SplitCoresPassOptions cores;
  cores.arch = arch.str();
  manager.addPass(createSplitCoresPass(cores));
  SplitLoadsPassOptions loads;
  loads.arch = arch.str();
  manager.addPass(createSplitLoadsPass(loads));
  manager.addPass(createVerifyLoweredToTilePass());
}
