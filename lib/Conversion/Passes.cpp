//===- Passes.cpp - The conversion's passes in order ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/Passes.h"
#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tessera {

namespace generated {
#define GEN_PASS_REGISTRATION
#include "lib/Conversion/Passes.h.inc"
} // namespace generated

void addLowerToIsaPasses(OpPassManager &manager, llvm::StringRef arch) {
  // Loops of one iteration go, index arithmetic is folded and shared.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createMergeMapsPass());
  manager.addPass(createConvertTileToISAPass({arch.str()}));
  manager.addPass(createVerifyLoweredToISAPass());
  VerifyISAProgramPassOptions options;
  options.arch = arch.str();
  manager.addPass(createVerifyISAProgramPass(options));
}

void addDevicePasses(OpPassManager &manager, llvm::StringRef arch) {
  manager.addPass(createPlanArenaPass({arch.str()}));
}

void registerConversionPasses() { generated::registerConversionPasses(); }

} // namespace tessera
