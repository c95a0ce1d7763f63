//===- TensorBuilders.h - Common pieces of tensor code ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builders for f32 tensors of static shape that several operators use.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_TENSORBUILDERS_H
#define TESSERA_LIB_IMPORT_TENSORBUILDERS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Support/Status.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tessera::onnx {

llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
/// "[1, 2, 3]"
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// An error if a tensor of the shape is more than any device could hold, or has
/// no elements.
Status checkShape(llvm::ArrayRef<int64_t> shape);
int64_t product(llvm::ArrayRef<int64_t> extents);

mlir::Value buildScalar(mlir::ImplicitLocOpBuilder &b, float value);
/// The scalar `sum` divided by `count`: multiplied by its reciprocal if that is
/// exact, since a product is cheaper.
mlir::Value buildDivision(mlir::ImplicitLocOpBuilder &b, mlir::Value sum,
                          int64_t count);
mlir::Type elementTypeOf(mlir::Value value);
/// A constant of an integer or float type.
mlir::Value buildNumber(mlir::ImplicitLocOpBuilder &b, mlir::Type type,
                        double value);
/// A tensor without defined elements; of f32 if no type is given.
mlir::Value buildEmpty(mlir::ImplicitLocOpBuilder &b,
                       llvm::ArrayRef<int64_t> shape, mlir::Type element = {});
mlir::Value buildFilled(mlir::ImplicitLocOpBuilder &b,
                        llvm::ArrayRef<int64_t> shape, double value,
                        mlir::Type element = {});
/// Pads dimension `firstDim + i` by low[i] and high[i]; the value itself if all
/// are 0.
mlir::Value buildPad(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                     unsigned firstDim, llvm::ArrayRef<int64_t> low,
                     llvm::ArrayRef<int64_t> high, double element);
/// The same elements in another shape with as many of them.
mlir::Value buildReshape(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                         llvm::ArrayRef<int64_t> shape);
mlir::Value buildTranspose(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           llvm::ArrayRef<int64_t> permutation);

/// Computes one element from the operands' elements.
using ElementFunction = llvm::function_ref<mlir::Value(
    mlir::ImplicitLocOpBuilder &b, mlir::ValueRange elements)>;

/// The common shape of operands under the rules of multidirectional
/// broadcasting.
Result<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<mlir::Value> operands);
/// One linalg.generic over broadcast operands, with results of `element`.
/// Constants with one element are taken into its body.
Result<mlir::Value> buildElementwise(mlir::ImplicitLocOpBuilder &b,
                                     llvm::ArrayRef<mlir::Value> operands,
                                     mlir::Type element,
                                     ElementFunction function);
/// With results of f32.
Result<mlir::Value> buildElementwise(mlir::ImplicitLocOpBuilder &b,
                                     llvm::ArrayRef<mlir::Value> operands,
                                     ElementFunction function);
/// The value repeated along dimensions of extent 1, and leading ones added.
Result<mlir::Value> buildBroadcast(mlir::ImplicitLocOpBuilder &b,
                                   mlir::Value value,
                                   llvm::ArrayRef<int64_t> shape);

/// The elements at the given positions along a dimension, of which there is at
/// least one.
Result<mlir::Value> buildPick(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                              unsigned dim, llvm::ArrayRef<int64_t> positions);

/// `value` combined with `operand`, which has one element for each index of
/// dimension `dim`.
mlir::Value buildAlongDim(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                          mlir::Value operand, unsigned dim,
                          ElementFunction function);

enum class Reduction { Sum, Max, Min };
/// Reduces dimension `dim` away, in the order of its index. Of floats or signed
/// integers.
mlir::Value buildReduction(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           unsigned dim, Reduction reduction);
/// `function(value, reduced)`, where `reduced` lacks dimension `dim`.
mlir::Value buildAcrossDim(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           mlir::Value reduced, unsigned dim,
                           ElementFunction function);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_TENSORBUILDERS_H
