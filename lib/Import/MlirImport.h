//===- MlirImport.h - From MLIR text or bytecode to a module ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_MLIRIMPORT_H
#define TESSERA_LIB_IMPORT_MLIRIMPORT_H

#include "tessera/Import/Import.h"

namespace tessera {

/// Parses text or bytecode. Errors start with `name` and, for text, the line.
Result<mlir::OwningOpRef<mlir::ModuleOp>> parseMlir(mlir::MLIRContext &context,
                                                    std::string bytes,
                                                    const std::string &name);

/// Brings a parsed module into the form that importModel() promises: one
/// function `@main`, TOSA lowered, everything left known, of static shape and
/// of 32-bit floats. Errors do not name the file.
Status normalizeMlir(mlir::ModuleOp module, const ImportOptions &options);

ModelDescription descriptionOf(mlir::ModuleOp module, bool bytecode);

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_MLIRIMPORT_H
