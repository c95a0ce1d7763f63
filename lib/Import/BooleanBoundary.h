//===- BooleanBoundary.h - Booleans at a model's boundary -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor of booleans is stored in bytes that hold 0 or 1. Inside of a model
// its elements are i1; arguments and results are of i8, so that whoever fills
// and reads them sees whole bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_BOOLEANBOUNDARY_H
#define TESSERA_LIB_IMPORT_BOOLEANBOUNDARY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// Turns arguments and results of i1 into i8. Any byte but 0 counts as true.
void storeBooleansAsBytes(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_BOOLEANBOUNDARY_H
