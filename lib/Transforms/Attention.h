//===- Attention.h ----------------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention among linalg operations: a product (the scores), element-wise
// operations on it, a softmax of its rows, and a product of that with values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_ATTENTION_H
#define TESSERA_LIB_TRANSFORMS_ATTENTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace tessera {

/// The exponentials of a softmax and what goes with them. The loops of all
/// three are those of the exponentials; one of them, the keys, is reduced by
/// the other two.
struct RowSoftmax {
  mlir::linalg::GenericOp maximum, exponential, sum;
  unsigned keyLoop;

  mlir::Value input() { return maximum.getInputs()[0]; }
  /// From those loops to the position in a tensor with one element per row.
  mlir::AffineMap rows() { return maximum.getIndexingMapsArray().back(); }
};
/// exp(x - maximum of the row of x), each rounded or widened, if at all.
std::optional<RowSoftmax> matchRowSoftmax(mlir::linalg::GenericOp exponential);

struct Attention {
  mlir::linalg::GenericOp scores;
  /// Element-wise, from the scores to the input of the softmax.
  llvm::SmallVector<mlir::linalg::GenericOp> chain;
  RowSoftmax softmax;
  /// exponential / sum; null where the sum divides the values instead.
  mlir::linalg::GenericOp quotient;
  /// The contraction, and the operand that holds the weights.
  mlir::linalg::GenericOp values;
  unsigned weights;

  /// Whether each weight is rounded to a narrower format than f32.
  bool roundsWeights();
  /// All before the values, in program order.
  llvm::SmallVector<mlir::Operation *> beforeValues();
  /// Where a row of the softmax stands, from the position in the values'
  /// result.
  mlir::AffineMap rowsOfResult();
  /// The dimension of the values' other operand that holds the keys; nothing if
  /// it is no dimension of its own.
  std::optional<unsigned> keyDimOfValues();
  /// The dimension of the scores that holds the keys.
  std::optional<unsigned> keyDimOfScores();
};

/// The attention that ends in this contraction, all of which nobody else reads.
std::optional<Attention> matchAttention(mlir::linalg::GenericOp values);

/// Divides after the second product in place of before it, where there are
/// fewer elements, and takes the operation behind it in, if it is element-wise.
/// Not for weights that are rounded: others would be.
void divideAfterValues(mlir::RewriterBase &rewriter, Attention &attention);

/// Of an attention on a tile, which divides after the values: computes the
/// scores of `keys` keys at a time, fewer than there are. Keeps for each row
/// the largest score so far and scales what is summed up so far when that
/// grows.
mlir::LogicalResult streamKeys(mlir::RewriterBase &rewriter,
                               Attention &attention, int64_t keys);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_ATTENTION_H
