//===- WidenedFloats.h - Where narrow floats are widened --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Importers compute in f32 and write the widening of f16 and bf16 operands as
// element-wise operations of their own. Widening is exact and free where an
// engine reads an operand, so it moves to there: memory and the matrix engine
// see the narrow format.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_WIDENEDFLOATS_H
#define TESSERA_LIB_TRANSFORMS_WIDENEDFLOATS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// An operation that only widens the floats of its input, perhaps permuted or
/// broadcast.
bool isFloatWidening(mlir::linalg::LinalgOp op);

/// Whether `op` may read an operand of floats in the narrow type: the factors
/// of a sum of products must stay of one type, so all of them must be of it or
/// be widened from it.
bool canReadNarrow(mlir::linalg::GenericOp op, mlir::Type narrow);

/// `value` with its floats converted to `element`, by an operation of its own.
mlir::Value convertFloats(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, mlir::Type element);

/// The constant that `pad` pads with, rounded to `element`; null if it is not
/// known, or not exact in `element` and `exactly` is wanted.
mlir::FloatAttr roundedPadding(mlir::tensor::PadOp pad, mlir::FloatType element,
                               bool exactly);

/// A widening moves into the linalg operations that read it and behind the
/// padding, slices and reshapes of its result.
void populateFloatWideningPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_WIDENEDFLOATS_H
