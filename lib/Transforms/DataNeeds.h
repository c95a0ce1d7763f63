//===- DataNeeds.h - What a model cannot do without -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operations of a function its results need, and how much of a tensor is
// read at least. Floors count nothing that a compiler may leave out: dead
// operations, unread inputs, rows that a stride steps over.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_DATANEEDS_H
#define TESSERA_LIB_TRANSFORMS_DATANEEDS_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"
#include <cstdint>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace tessera {

class DataNeeds {
public:
  explicit DataNeeds(mlir::func::FuncOp function);

  /// Whether a result of the function depends on `op`.
  bool isLive(mlir::Operation *op) const { return live.contains(op); }
  /// A lower bound of the elements of the static tensor `value` that live
  /// operations read.
  uint64_t elementsRead(mlir::Value value) const;

private:
  uint64_t elementsRead(mlir::OpOperand &use) const;
  llvm::DenseSet<mlir::Operation *> live;
};

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_DATANEEDS_H
