//===- GraphConstants.h - The elements of constants ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights may be dense attributes or dense resources; passes that compute with
// them read and make both through these functions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_GRAPH_GRAPHCONSTANTS_H
#define TESSERA_DIALECTS_GRAPH_GRAPHCONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tessera::graph {

/// From this size in bytes on, constants are dense resources: never hashed, and
/// printed apart from the operations.
inline constexpr size_t resourceBytes = 1024;

/// The value's constant attribute; null if it is not computed by a constant.
mlir::ElementsAttr getConstant(mlir::Value value);

/// The elements, row-major and packed; nothing if their width is not a whole
/// number of bytes or the resource is not there.
std::optional<llvm::SmallVector<char>> getBytes(mlir::ElementsAttr constant);
/// The elements of a constant of f32.
std::optional<llvm::SmallVector<float>> getFloats(mlir::ElementsAttr constant);

/// A constant of `type` with a copy of `bytes`. A resource takes a name that
/// begins with `name`.
mlir::ElementsAttr makeConstant(mlir::RankedTensorType type,
                                llvm::ArrayRef<char> bytes,
                                llvm::StringRef name);
mlir::ElementsAttr makeConstant(mlir::RankedTensorType type,
                                llvm::ArrayRef<float> elements,
                                llvm::StringRef name);

} // namespace tessera::graph

#endif // TESSERA_DIALECTS_GRAPH_GRAPHCONSTANTS_H
