//===- DispatchBuilder.h ----------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves operations into a graph.dispatch.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_DISPATCHBUILDER_H
#define TESSERA_LIB_TRANSFORMS_DISPATCHBUILDER_H

#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// The attribute of a dispatch with the model nodes that it covers.
inline constexpr llvm::StringLiteral nodesAttrName = "nodes";
/// How the tiling pass mapped it: a device::MappingAttr.
inline constexpr llvm::StringLiteral mappingAttrName = "mapping";

/// Moves `ops` (of one block, in order; the last one is the root, whose results
/// become the dispatch's) into a new dispatch before the root and erases them.
/// Constants, fills and empty tensors that they use are cloned.
graph::DispatchOp wrapInDispatch(mlir::RewriterBase &rewriter,
                                 llvm::ArrayRef<mlir::Operation *> ops);

/// Replaces `pad` by a fill and an insertion; returns the insertion.
mlir::tensor::InsertSliceOp expandPad(mlir::RewriterBase &rewriter,
                                      mlir::tensor::PadOp pad);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_DISPATCHBUILDER_H
