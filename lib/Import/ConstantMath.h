//===- ConstantMath.h - Arithmetic on constants while importing -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters compute shapes, axes and scales with ordinary operators. What
// depends on constants alone is computed here while importing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_CONSTANTMATH_H
#define TESSERA_LIB_IMPORT_CONSTANTMATH_H

#include "tessera/Import/OnnxModel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tessera::onnx {

/// A tensor of the element type with the given elements, which must fit.
Tensor tensorOf(int32_t elementType, llvm::ArrayRef<int64_t> shape,
                llvm::ArrayRef<int64_t> elements);
Tensor tensorOf(int32_t elementType, llvm::ArrayRef<int64_t> shape,
                llvm::ArrayRef<double> elements);

/// The result of an operator that works element by element, with broadcasting;
/// nothing if it is not known here, or the constants are too large to be worth
/// it. `operands` may hold null for one that is not constant: then nothing.
std::optional<Tensor> foldElementwise(llvm::StringRef opType,
                                      llvm::ArrayRef<const Tensor *> operands);

/// The elements converted as ONNX's Cast does; nothing for types that have no
/// numbers.
std::optional<Tensor> foldCast(const Tensor &tensor, int32_t elementType);

/// The sum, product, maximum, minimum or mean ("ReduceSum" …) over the axes.
std::optional<Tensor> foldReduction(llvm::StringRef opType,
                                    const Tensor &tensor,
                                    llvm::ArrayRef<int64_t> axes, bool keep);

/// A tensor of the shape, whose element at `index` is the element of `source`
/// at position sourceOf(index), row-major.
Tensor gatherElements(
    const Tensor &source, llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<int64_t(llvm::ArrayRef<int64_t> index)> sourceOf);

/// The distance between elements along each dimension, in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);
/// The shape with signed extents.
llvm::SmallVector<int64_t> shapeOf(const Tensor &tensor);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_CONSTANTMATH_H
