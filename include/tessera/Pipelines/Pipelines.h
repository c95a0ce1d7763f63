//===- Pipelines.h - The compiler's passes in order -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The phases of a compilation; each level is closed by a verifier pass. `arch` is a
// preset's name, a path, or the text of an architecture file.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PIPELINES_PIPELINES_H
#define TESSERA_PIPELINES_PIPELINES_H

#include "tessera/Transforms/PlanOptions.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tessera {

/// Folds what constants alone determine; the operators left are the model's
/// work, whatever the mapping.
void addFoldingPhase(mlir::OpPassManager &manager);
/// A folded module to dispatches on tensors.
void addGraphPhase(mlir::OpPassManager &manager);
/// Dispatches to tile kernels and a device program.
void addTilePhase(mlir::OpPassManager &manager, llvm::StringRef arch,
                  const PlanOptions &plans = {});
/// Tile kernels to instructions.
void addIsaPhase(mlir::OpPassManager &manager, llvm::StringRef arch);
/// The device program to its final form: buffers placed.
void addDevicePhase(mlir::OpPassManager &manager, llvm::StringRef arch);

/// Registers `tessera-pipeline{arch=… to=…}` and one pipeline per phase.
void registerTesseraPipelines();

} // namespace tessera

#endif // TESSERA_PIPELINES_PIPELINES_H
