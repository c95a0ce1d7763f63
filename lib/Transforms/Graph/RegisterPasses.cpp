//===- RegisterPasses.cpp - Names of the graph passes
//-----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Transforms/GraphPasses.h"

namespace tessera {
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Graph/GraphPasses.h.inc"
} // namespace tessera

void tessera::registerGraphPasses() { registerGraphLevelPasses(); }
