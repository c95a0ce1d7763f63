//===- GraphPasses.h - Passes on the graph level ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes are described in GraphPasses.td.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_GRAPHPASSES_H
#define TESSERA_TRANSFORMS_GRAPHPASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace tessera {

#define GEN_PASS_DECL
#include "lib/Transforms/Graph/GraphPasses.h.inc"

/// Computes what weights alone determine: batch norms folded, layouts applied.
void addGraphPasses(mlir::OpPassManager &manager);

/// Registers all of them by name.
void registerGraphPasses();

} // namespace tessera

#endif // TESSERA_TRANSFORMS_GRAPHPASSES_H
