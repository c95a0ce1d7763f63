//===- Window.h - Sliding windows -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===-------------------------------------------------------------------*- C++
//-*-===//
//===----------------------------------------------------------------------===//
// What Conv, MaxPool and AveragePool share: where windows lie in the input.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_WINDOW_H
#define TESSERA_LIB_IMPORT_WINDOW_H

#include "NodeImport.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera::onnx {

/// Windows over the spatial dimensions of an input, always two: an operator
/// with one spatial dimension gets a height of 1.
struct Window {
  llvm::SmallVector<int64_t, 2> input, kernel, strides, dilations, padsLow,
      padsHigh;
  /// Elements beyond `padsHigh` that the last window reaches into (ceil_mode).
  llvm::SmallVector<int64_t, 2> beyond;
  llvm::SmallVector<int64_t, 2> output;

  /// Padding after the input, `beyond` included.
  llvm::SmallVector<int64_t, 2> fullPadsHigh() const;
  /// How many elements of window `index` along `dim` lie in the input, or, if
  /// `countPads`, in the input and its padding but not beyond.
  int64_t countInside(unsigned dim, int64_t index, bool countPads) const;
};

/// Reads auto_pad, ceil_mode, dilations, pads and strides (and checks
/// kernel_shape, if given, against `kernel`). `spatial` and `kernel` have the
/// operator's own number of dimensions, 1 or 2.
Result<Window> readWindow(NodeImport &node, llvm::ArrayRef<int64_t> spatial,
                          llvm::ArrayRef<int64_t> kernel);
/// The attribute kernel_shape, required, for `rank` spatial dimensions.
Result<std::vector<int64_t>> readKernelShape(NodeImport &node, size_t rank);

/// [N, C, W] as [N, C, 1, W]; four dimensions stay.
llvm::SmallVector<int64_t> withTwoSpatialDims(llvm::ArrayRef<int64_t> shape);

/// The convolution of a padded [N, C, H, W] with [F, C / group, KH, KW].
mlir::Value buildConvolution(mlir::ImplicitLocOpBuilder &b, mlir::Value image,
                             mlir::Value weights, const Window &window,
                             int64_t group);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_WINDOW_H
