//===- IndexExpressions.h - What a body computes from loop indices -*- C++ -*-//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_INDEXEXPRESSIONS_H
#define TESSERA_LIB_TRANSFORMS_INDEXEXPRESSIONS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallBitVector.h"
#include <optional>

namespace tessera {

/// The loops on whose index a value of a linalg body depends; nullopt if it
/// also depends on elements of tensors.
class IndexExpressions {
public:
  explicit IndexExpressions(mlir::linalg::GenericOp op) : op(op) {}
  std::optional<llvm::SmallBitVector> loopsOf(mlir::Value value);
  /// The loops that a value needs in any way: by index, or by the elements of
  /// operands.
  llvm::SmallBitVector allLoopsOf(mlir::Value value);
  /// The value for each index of its only loop, or one if it has none; nullopt
  /// if it cannot be computed at compile time.
  std::optional<llvm::SmallVector<mlir::TypedAttr>> evaluate(mlir::Value value);

private:
  mlir::Attribute
  evaluateAt(mlir::Value value, int64_t index,
             llvm::DenseMap<mlir::Value, mlir::Attribute> &known);
  mlir::linalg::GenericOp op;
  llvm::DenseMap<mlir::Value, std::optional<llvm::SmallBitVector>> loops;
};

/// Copies values of a linalg body into another one, where indices are i32.
class BodyCopy {
public:
  BodyCopy(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  /// `from` is `to` in the copy.
  void map(mlir::Value from, mlir::Value to) { mapping.map(from, to); }
  mlir::Value copy(mlir::Value value);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::IRMapping mapping;
};

/// i32 for index, any other type itself.
mlir::Type laneType(mlir::Type type);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_INDEXEXPRESSIONS_H
