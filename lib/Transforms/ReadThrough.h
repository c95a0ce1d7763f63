//===- ReadThrough.h --------------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that read what another one only moved read its source instead.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_READTHROUGH_H
#define TESSERA_LIB_TRANSFORMS_READTHROUGH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include <optional>

namespace tessera {

/// A tensor that has the elements of another one, which an operation only moved
/// or converted.
struct ElementSource {
  mlir::Value tensor;
  /// From positions in the moved tensor to positions in `tensor`.
  mlir::AffineMap positions;
  /// The operation that is read through.
  mlir::Operation *move;
};

/// Of the result of an operation with one input that each iteration moves one
/// element of; nullopt if the way back is no such map.
std::optional<ElementSource> sourceOf(mlir::linalg::GenericOp move);
/// Of a reshape that only adds dimensions of one element, as reductions that
/// keep their dimensions leave behind them.
std::optional<ElementSource> sourceOf(mlir::tensor::ExpandShapeOp expansion);

/// The first input for which `find` gives a source, and from whose source all
/// extents of the loops still follow, becomes that source. Then `adapt` does
/// what else the reader needs.
mlir::LogicalResult readThrough(
    mlir::linalg::GenericOp reader, mlir::PatternRewriter &rewriter,
    llvm::function_ref<std::optional<ElementSource>(mlir::Value)> find,
    llvm::function_ref<void(mlir::OpOperand &, mlir::Operation *move)> adapt);

void populateReadThroughPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_READTHROUGH_H
