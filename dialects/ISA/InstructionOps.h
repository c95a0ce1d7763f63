//===- InstructionOps.h - What all instructions share -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The methods of every instruction's operation; ISAOps.td makes the classes
// call these, and these go by the instruction table.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_ISA_INSTRUCTIONOPS_H
#define TESSERA_DIALECTS_ISA_INSTRUCTIONOPS_H

#include "dialects/ISA/ISADialect.h"

namespace tessera::isa {

mlir::ParseResult parseInstruction(mlir::OpAsmParser &parser,
                                   mlir::OperationState &result);
void printInstruction(mlir::Operation *op, mlir::OpAsmPrinter &printer);
llvm::LogicalResult verifyInstruction(mlir::Operation *op);

/// Whether the operation's region says what `field` holds.
bool isDerivedField(const InstInfo &info, const FieldInfo &field);

} // namespace tessera::isa

#endif // TESSERA_DIALECTS_ISA_INSTRUCTIONOPS_H
