//===- ExposeDispatches.h - What each dispatch computes ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For finding the operation that computes something wrong: every dispatch's
// result becomes a result of the model, and the same dispatches, inlined, are
// ordinary linalg that the host reference can run.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_EXPOSEDISPATCHES_H
#define TESSERA_TRANSFORMS_EXPOSEDISPATCHES_H

namespace mlir {
class ModuleOp;
}

namespace tessera {

/// Adds the results of dispatches to those of `@main`, in program order, named
/// by their model nodes. Left out are those that are returned already, that
/// another dispatch writes into, or whose elements are smaller than a byte.
void exposeDispatches(mlir::ModuleOp module);

/// Replaces every dispatch of `@main` by its body.
void inlineDispatches(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TRANSFORMS_EXPOSEDISPATCHES_H
