//===- LinalgStructure.h ----------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a linalg operation computes, as far as mapping it to engines needs:
// contractions and reductions recognised by their body and maps.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_LINALGSTRUCTURE_H
#define TESSERA_LIB_TRANSFORMS_LINALGSTRUCTURE_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"
#include <optional>
#include <string>

namespace tessera {

/// out[m, n] (+)= sum over k of a[m, k] * b[k, n], for each point of batch.
/// The lists hold loop dimensions in ascending order. Input 0 is a, input 1 b.
struct Contraction {
  llvm::SmallVector<unsigned> batch, m, n, k;
};

/// Recognises a product of the two inputs (widened, if at all) added to the
/// output, over any affine maps: matmul and convolution forms alike.
std::optional<Contraction> matchContraction(mlir::linalg::LinalgOp op);

/// The same of operands that zero points are subtracted from, which may be
/// further inputs: what a model asks for, however it is computed.
struct ShiftedContraction {
  Contraction loops;
  unsigned a, b; ///< Inputs.
};
std::optional<ShiftedContraction>
matchShiftedContraction(mlir::linalg::LinalgOp op);

/// Whether the matrix engine computes it: not when each point of the batch is a
/// dot product or an outer product, as in a depthwise convolution.
bool usesMatrixEngine(mlir::linalg::LinalgOp op,
                      const Contraction &contraction);

/// Writes that choice into each contraction below `root`: a tile of a batch may
/// look like a single product, but has to run where its plan has it.
inline constexpr llvm::StringLiteral engineAttrName = "tile.engine";
void keepEngines(mlir::Operation *root);

/// A reduction of one output by one operation of the body.
struct ReductionBody {
  tile::Reduction kind;
  mlir::Operation *combiner; ///< In the body.
  mlir::Value term;          ///< Its operand that is not the old value.
};
std::optional<ReductionBody> matchReduction(mlir::linalg::LinalgOp op);

/// Whether `value` changes nothing when it starts a reduction by `combiner`.
bool isNeutral(mlir::Operation *combiner, mlir::Attribute value);
/// The value that starts a reduction of this kind.
mlir::TypedAttr neutralValue(tile::Reduction kind, mlir::Type type);

/// An operation that copies its only input, perhaps permuted or broadcast.
bool isCopy(mlir::linalg::LinalgOp op);

/// Whether an element-wise operation reads a contraction's result and nobody
/// else does: it is best computed where the contraction leaves its result.
bool isEpilogue(mlir::linalg::LinalgOp op);

/// How the loops of a member of a fusion group relate to the loops of the
/// group's root: the root's dimension, or -1 for a loop that runs whole.
using RootLoops = llvm::SmallVector<int>;

/// The root loops of `producer`, whose result `consumer` (with its root loops)
/// reads through `operand`. nullopt if the result's tile is not simply a tile
/// of the producer's loops.
std::optional<RootLoops> producerLoops(mlir::linalg::GenericOp producer,
                                       mlir::OpOperand &operand,
                                       llvm::ArrayRef<int> consumerLoops);

/// Names of the model nodes in a location, in order, without repetition; the
/// file position of one that names none.
llvm::SmallVector<std::string>
nodeNames(llvm::ArrayRef<mlir::Location> locations);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_LINALGSTRUCTURE_H
