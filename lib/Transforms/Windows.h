//===- Windows.h - Tiles of padded tensors ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The padding of a tile is made by its load: each tile reads a window of the
// tensor that may reach beyond its edges.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_WINDOWS_H
#define TESSERA_LIB_TRANSFORMS_WINDOWS_H

#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Turns each `tensor.pad` inside a dispatch of `root`, with constant amounts
/// and value, into a `tile.window` for each slice that is read of it.
void makeWindows(mlir::RewriterBase &rewriter, mlir::Operation *root);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_WINDOWS_H
