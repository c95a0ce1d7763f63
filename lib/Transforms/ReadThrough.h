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

/// Where the elements of a result are in the source: a map from positions of
/// the one to positions of the other. nullopt if there is no such map.
///
/// Of an operation with one input that each iteration moves one element of.
std::optional<mlir::AffineMap> positionsInSource(mlir::linalg::GenericOp move);
/// Of a reshape that only adds dimensions of one element, as reductions that
/// keep their dimensions leave behind them.
std::optional<mlir::AffineMap>
positionsInSource(mlir::tensor::ExpandShapeOp expansion);

/// The indexing maps of `reader` if `operand` were the source itself; nullopt
/// if an extent of its loops would no longer follow from its operands.
std::optional<llvm::SmallVector<mlir::AffineMap>>
mapsReadingSource(mlir::linalg::GenericOp reader, mlir::OpOperand &operand,
                  mlir::AffineMap positions);

void populateReadThroughPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_READTHROUGH_H
