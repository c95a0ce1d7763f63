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

/// "line 3" of a location from a file, else its text.
std::string placeOf(mlir::Location loc);

/// Takes away what stands around the tensors: calls are inlined, loops with a
/// constant number of iterations unrolled; assertions and what nothing uses are
/// dropped.
Status flattenMlir(mlir::ModuleOp module, mlir::func::FuncOp entry);

/// Replaces a position that an element decides by the nearest one inside of the
/// tensor, for the device and for the reference alike.
void clampPositions(mlir::func::FuncOp entry);
/// Computes what loop indices alone decide, and lanes cannot compute.
void tabulateIndexValues(mlir::func::FuncOp entry);
/// Writes functions of elements that lanes lack in terms of others.
void expandScalars(mlir::func::FuncOp entry);
/// Likewise reductions that engines lack.
void expandReductions(mlir::func::FuncOp entry);

/// Makes two results of each expectation of the function `@main`: the value,
/// and what it should be. See tessera/Import/Expectations.h.
void takeExpectations(mlir::func::FuncOp entry);

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_MLIRIMPORT_H
