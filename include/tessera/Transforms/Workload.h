//===- Workload.h -----------------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the work that a model asks for, before any mapping: what bounds and
// rooflines are computed from.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_WORKLOAD_H
#define TESSERA_TRANSFORMS_WORKLOAD_H

#include "tessera/Object/Object.h"
#include <cstdint>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace tessera {

struct Workload {
  /// One record for each operation that computes, in program order.
  std::vector<OperatorRecord> operators;
  /// Of each of them: bytes of what it reads and of its results.
  std::vector<uint64_t> operandBytes;
  /// Bytes of weights, inputs and outputs, once each.
  uint64_t compulsoryBytes = 0;
};

/// Counts the entry function (`@main`, or the only one) of a graph-level
/// module: linalg operations, named or generic, before dispatches are formed.
Workload countWorkload(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TRANSFORMS_WORKLOAD_H
