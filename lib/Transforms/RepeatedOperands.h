//===- RepeatedOperands.h ---------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_REPEATEDOPERANDS_H
#define TESSERA_LIB_TRANSFORMS_REPEATEDOPERANDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Where a batch of products reads a tensor that holds each matrix several
/// times in a row, as grouped-query attention repeats its key heads, the loop
/// over the batch becomes two, over the matrices and over their repetitions,
/// and so do the loops of the operations behind. Then the matrices need not be
/// repeated, and the repetitions are more rows of one product.
void splitRepeatedBatches(mlir::RewriterBase &rewriter,
                          mlir::func::FuncOp function);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_REPEATEDOPERANDS_H
