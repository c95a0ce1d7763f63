//===- IntegerContractions.h - Contractions of narrow integers --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The matrix engine multiplies stored elements. Patterns that bring
// contractions of widened and shifted elements into that form, without changing
// a bit of the result.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_INTEGERCONTRACTIONS_H
#define TESSERA_LIB_TRANSFORMS_INTEGERCONTRACTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace tessera {

/// Two patterns:
/// - an operand of a sum of products that an element-wise operation widened
/// (and
///   shifted by a zero point) is widened in the sum's body instead;
/// - a sum of (a - za) * (b - zb) for the matrix engine becomes the sum of a *
/// b
///   and corrections by the sums of a and of b. All are modulo 2^32, so the
///   result is the same.
void populateIntegerContractionPatterns(mlir::RewritePatternSet &patterns);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_INTEGERCONTRACTIONS_H
