//===- Passes.h -------------------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes from a graph of upstream operations to tile kernels and their
// device program; Passes.td says what each does. Their order:
//
//   tessera-lower-arg-reductions, tessera-narrow-integers,
//   tessera-lower-indexing, tessera-normalize, tessera-form-dispatches
//                                                   (--emit=graph shows this)
//   tessera-tile-dispatches, tessera-bufferize-dispatches,
//   tessera-convert-to-tile, tessera-split-cores, tessera-split-loads,
//   verify-lowered-to-tile
//                                                   (--emit=tile shows this)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_PASSES_H
#define TESSERA_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "tessera/Transforms/PlanOptions.h"
#include "llvm/ADT/StringRef.h"
#include <memory>

namespace mlir {
class ModuleOp;
class OpPassManager;
namespace func {
class FuncOp;
}
} // namespace mlir

namespace tessera {

#define GEN_PASS_DECL
#include "lib/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Passes.h.inc"

/// Adds the passes of the first line above.
void addFormDispatchesPasses(mlir::OpPassManager &manager);
/// Adds the passes of the other lines above; `arch` is a preset or a file.
void addLowerToTilePasses(mlir::OpPassManager &manager, llvm::StringRef arch,
                          const PlanOptions &plans = {});

} // namespace tessera

#endif // TESSERA_TRANSFORMS_PASSES_H
