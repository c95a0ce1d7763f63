//===- SplitInputs.h - Element-wise operations of many inputs ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_SPLITINPUTS_H
#define TESSERA_LIB_TRANSFORMS_SPLITINPUTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

/// Splits an element-wise operation, or what a reduction does to its terms,
/// until each part reads at most `maxInputs` tensors. What has no such split
/// stays as it is.
void splitInputs(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op,
                 unsigned maxInputs);

/// Splits an element-wise operation whose body is too much for one lane
/// program, as far as its parts read at most `maxInputs` tensors.
void splitBody(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op,
               unsigned maxInputs);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_SPLITINPUTS_H
