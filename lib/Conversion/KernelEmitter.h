//===- KernelEmitter.h - A planned kernel as instructions -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of the conversion of a tile.kernel: addresses, registers, loops
// and semaphores as a tree of instructions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_KERNELEMITTER_H
#define TESSERA_LIB_CONVERSION_KERNELEMITTER_H

#include "EngineSelection.h"
#include "KernelPlan.h"

namespace tessera {

/// An instruction; loops have a body.
struct CodeNode {
  isa::Instruction inst;
  mlir::Location loc;
  std::vector<CodeNode> body;
};

struct EmittedKernel {
  std::vector<isa::Descriptor> descriptors;
  std::vector<CodeNode> code; ///< Ends with halt.
};

/// `engineInsts` are those of the kernel's engine nodes, by node. It is an
/// error if the scalar registers do not suffice.
mlir::FailureOr<EmittedKernel>
emitKernel(const TileKernel &kernel, const KernelPlan &plan,
           const std::vector<std::optional<EngineInst>> &engineInsts);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_KERNELEMITTER_H
