//===- WideBoundary.h - 64-bit integers at a model's boundary ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of i64 outside of a model are pairs of i32 in its memory: the low and
// the high half, in a last dimension of extent 2. The bytes are the same.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_WIDEBOUNDARY_H
#define TESSERA_LIB_IMPORT_WIDEBOUNDARY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// Makes arguments and results of i64 ones of pairs. An argument that nothing
/// reads stays as it is.
void storeIntegersAsPairs(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_WIDEBOUNDARY_H
