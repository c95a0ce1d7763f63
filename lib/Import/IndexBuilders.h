//===- IndexBuilders.h - Tensor code with computed positions ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions that the model computes are tensors of i32. A position outside of
// the extent is undefined in ONNX; here it counts as the nearest one inside.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_INDEXBUILDERS_H
#define TESSERA_LIB_IMPORT_INDEXBUILDERS_H

#include "NodeImport.h"
#include "TensorBuilders.h"

namespace tessera::onnx {

/// Operand `index` as positions of i32 along a dimension of `extent` elements;
/// a negative one counts from the end.
Result<mlir::Value> positionsInput(NodeImport &node, size_t index,
                                   int64_t extent);
/// The positions' values, brought into 0 to `extent` - 1.
Result<mlir::Value> buildPositions(mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value value, int64_t extent);

/// One coordinate of an element that is read: dimension `dim` of the result, or
/// element of the positions at `operand`.
struct Coordinate {
  int operand = -1;
  int64_t dim = 0;
};
/// The tensor of the shape whose element has the coordinates in `table`. The
/// positions' maps are from the result's dimensions.
mlir::Value buildRead(mlir::ImplicitLocOpBuilder &b, mlir::Value table,
                      llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<mlir::Value> positions,
                      llvm::ArrayRef<mlir::AffineMap> maps,
                      llvm::ArrayRef<Coordinate> coordinates);

/// The index along dimension `dim` of the loops around, as i32.
mlir::Value buildLoopIndex(mlir::ImplicitLocOpBuilder &b, int64_t dim);

/// A generic over the loops with the reduction kind of each and one result.
mlir::Value buildReduced(mlir::ImplicitLocOpBuilder &b,
                         llvm::ArrayRef<mlir::Value> inputs, mlir::Value init,
                         llvm::ArrayRef<mlir::AffineMap> maps,
                         llvm::ArrayRef<int64_t> reduced,
                         ElementFunction function);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_INDEXBUILDERS_H
