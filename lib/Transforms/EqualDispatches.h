//===- EqualDispatches.h ----------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dispatches that compute the same, on other data: they share a kernel, which
// is mapped and compiled once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_EQUALDISPATCHES_H
#define TESSERA_LIB_TRANSFORMS_EQUALDISPATCHES_H

#include "dialects/Graph/GraphDialect.h"

namespace tessera {

/// The number of the kernel that a dispatch runs; a function has each kernel's
/// tiles in one of its dispatches, and `untiledAttrName` on the others.
inline constexpr llvm::StringLiteral kernelAttrName = "kernel";
inline constexpr llvm::StringLiteral untiledAttrName = "untiled";

/// Groups dispatches whose bodies are the same operations on the same types,
/// whatever they are called and whichever nodes they come from. Groups and
/// their members are in the order of `dispatches`.
llvm::SmallVector<llvm::SmallVector<graph::DispatchOp>>
groupEqualDispatches(llvm::ArrayRef<graph::DispatchOp> dispatches);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_EQUALDISPATCHES_H
