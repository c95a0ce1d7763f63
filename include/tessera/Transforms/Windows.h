//===- Windows.h - Bufferisation of tile.window -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_WINDOWS_H
#define TESSERA_TRANSFORMS_WINDOWS_H

#include "mlir/IR/DialectRegistry.h"

namespace tessera {

/// Lets one-shot bufferisation make a `tile.load` of a `tile.window`.
void registerWindowBufferization(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_TRANSFORMS_WINDOWS_H
