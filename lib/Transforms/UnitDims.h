//===- UnitDims.h -----------------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions of one element stand between operations that could be one: a
// product of matrices gives [128, 768], the bias behind it is added to
// [1, 128, 768]. Without them both have the same shape, and the reshapes
// between them are gone.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_UNITDIMS_H
#define TESSERA_LIB_TRANSFORMS_UNITDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera {

/// Takes loops of one iteration out of the linalg operations and paddings of a
/// function, with the dimensions of their operands that they index, and cancels
/// the reshapes. A contraction keeps a loop of each kind (m, n, k) that it has;
/// other operations keep one if without it a row [1, n] would be a vector.
mlir::LogicalResult dropUnitDims(mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_UNITDIMS_H
