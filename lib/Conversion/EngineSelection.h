//===- EngineSelection.h - Tile operations as instructions ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the instruction of a tile operation and the shape of its descriptors;
// addresses, registers and semaphores come later.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_ENGINESELECTION_H
#define TESSERA_LIB_CONVERSION_ENGINESELECTION_H

#include "TileKernel.h"
#include "tessera/ISA/Descriptor.h"
#include "tessera/ISA/MapProgram.h"

namespace tessera {

/// Dimension `dim` of a descriptor starts at `coordinate` of a tensor with
/// `extent` elements along it.
struct OperandWindow {
  unsigned dim = 0;
  LinearExpr coordinate;
  int64_t extent = 1;
};

struct EngineOperand {
  unsigned field = 0;         ///< Of the instruction: the descriptor register.
  mlir::Value root;           ///< Argument or local buffer.
  isa::Descriptor descriptor; ///< Without a base.
  LinearExpr offset;          ///< From the root's start, bytes.
  llvm::SmallVector<OperandWindow> windows;
};

struct EngineInst {
  isa::Instruction inst;
  llvm::SmallVector<EngineOperand> operands;
  /// Field `accumulateField` is a register with this value, if there is one.
  std::optional<LinearExpr> accumulateIf;
  unsigned accumulateField = 0;
};

/// Selects the instruction of one load, store, fill, mma or map. Lane programs
/// are looked up in `programs` and added if new.
mlir::FailureOr<EngineInst>
selectEngineInst(const TileKernel &kernel, mlir::Operation *op,
                 std::vector<isa::MapProgram> &programs);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_ENGINESELECTION_H
