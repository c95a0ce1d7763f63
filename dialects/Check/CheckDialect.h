//===- CheckDialect.h - The check dialect -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a model expects of the values that it computes. The operations are
// described in CheckOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_CHECK_CHECKDIALECT_H
#define TESSERA_DIALECTS_CHECK_CHECKDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "dialects/Check/CheckDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Check/CheckOps.h.inc"

#endif // TESSERA_DIALECTS_CHECK_CHECKDIALECT_H
