//===- Passes.h - From tile kernels to an object --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes are described in Passes.td. `arch` is a preset's name, a path, or
// the text of an architecture file.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_PASSES_H
#define TESSERA_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringRef.h"
#include <memory>

namespace mlir {
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace tessera {

#define GEN_PASS_DECL
#include "lib/Conversion/Passes.h.inc"

/// Tile kernels to proved instructions.
void addLowerToIsaPasses(mlir::OpPassManager &manager, llvm::StringRef arch);
/// The device program to its final form.
void addDevicePasses(mlir::OpPassManager &manager, llvm::StringRef arch);

/// Registers all of them by name.
void registerConversionPasses();

} // namespace tessera

#endif // TESSERA_CONVERSION_PASSES_H
