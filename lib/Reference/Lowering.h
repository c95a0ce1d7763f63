//===- Lowering.h - Imported modules to the LLVM dialect -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REFERENCE_LOWERING_H
#define TESSERA_LIB_REFERENCE_LOWERING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "tessera/Support/Status.h"

namespace tessera {

/// Dialects and interfaces that lowerToHost() and the translation need.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// Makes weights arguments: every constant of `@main` with more than a few
/// elements becomes one at the end of its arguments. Their attributes in order.
std::vector<mlir::ElementsAttr> constantsToArguments(mlir::ModuleOp module);

/// Lowers `@main` to the LLVM dialect. Its arguments become bare pointers, and
/// its results further pointers behind them, to be written; those without
/// elements are left out.
Status lowerToHost(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_LIB_REFERENCE_LOWERING_H
