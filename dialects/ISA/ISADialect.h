//===- ISADialect.h - The isa dialect ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation per instruction, and the bridge between operations and the
// LLVM-free tessera::isa structs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_ISA_ISADIALECT_H
#define TESSERA_DIALECTS_ISA_ISADIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "tessera/ISA/Descriptor.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"

#include "dialects/ISA/ISADialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/ISA/ISAOps.h.inc"

namespace tessera::isa {

/// The table's entry of an operation, or nullptr if it is no instruction.
const InstInfo *getInstInfo(mlir::Operation *op);
const InstInfo *getInstInfo(mlir::OperationName name);

/// Creates the operation of `inst`, whose values must fit. A hardware loop gets
/// an empty body; its length comes from what is put there.
mlir::Operation *createInstruction(mlir::OpBuilder &builder,
                                   mlir::Location location,
                                   const Instruction &inst);
/// The instruction of a verified operation; a loop's length is the number of
/// instructions inside it.
Instruction getInstruction(mlir::Operation *op);

/// The body of a hardware loop, or nullptr if `op` is none.
mlir::Block *getLoopBody(mlir::Operation *op);

/// Creates an empty kernel.
KernelOp createKernel(mlir::OpBuilder &builder, mlir::Location location,
                      llvm::StringRef name, uint32_t numArguments);
DescriptorOp createDescriptor(mlir::OpBuilder &builder, mlir::Location location,
                              const Descriptor &descriptor);
MapProgramOp createMapProgram(mlir::OpBuilder &builder, mlir::Location location,
                              llvm::StringRef name, const MapProgram &program);

/// Calls `visit` with every instruction of a kernel in program order: a loop,
/// then its body.
void forEachInstruction(KernelOp kernel,
                        llvm::function_ref<void(mlir::Operation *)> visit);

} // namespace tessera::isa

#endif // TESSERA_DIALECTS_ISA_ISADIALECT_H
