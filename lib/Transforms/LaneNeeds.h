//===- LaneNeeds.h - What a body needs of the vector lanes -------*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lane program has a limited number of operations and of registers. Whether a
// body fits is known when it becomes one (Conversion/LaneProgram.h); what is
// put together before that keeps well below.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_LANENEEDS_H
#define TESSERA_LIB_TRANSFORMS_LANENEEDS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tessera {

struct LaneNeeds {
  unsigned operations = 0;
  /// Values that are needed at the same time, at most.
  unsigned registers = 0;
  /// Whether more can be put together.
  bool fit() const;
  /// Whether it is too much for one program.
  bool exceed() const;
};

/// An estimate, of operations in their order that compute `results`.
LaneNeeds laneNeeds(llvm::ArrayRef<mlir::Operation *> operations,
                    mlir::ValueRange results);
/// Of a linalg operation's body.
LaneNeeds laneNeeds(mlir::Block &body);

/// The same of both bodies together, the first one's result being an operand of
/// the second.
LaneNeeds laneNeeds(mlir::Block &producer, mlir::Block &consumer);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_LANENEEDS_H
