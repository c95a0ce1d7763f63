//===- Operands.h - Which operands an instruction uses --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_OPERANDS_H
#define TESSERA_ISA_OPERANDS_H

#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"

namespace tessera::isa {

/// Whether the instruction looks at its descriptor field number `field`: what
/// its options leave out may hold anything. `program` is that of a `map`. An
/// operand that a register decides about counts as used.
bool usesOperand(const Instruction &inst, unsigned field,
                 const MapProgram *program = nullptr);

} // namespace tessera::isa

#endif // TESSERA_ISA_OPERANDS_H
