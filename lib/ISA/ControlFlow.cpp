//===- ControlFlow.cpp - Loops and branches -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Instruction.h"

namespace tessera::isa {

std::optional<uint64_t> loopLength(const Instruction &inst) {
  switch (inst.opcode) {
  case Opcode::LOOP:
    return inst.get(loop::length);
  case Opcode::LOOPR:
    return inst.get(loopr::length);
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> branchOffset(const Instruction &inst) {
  switch (inst.opcode) {
  case Opcode::JUMP:
    return inst.get(jump::offset);
  case Opcode::BEQ:
    return inst.get(beq::offset);
  case Opcode::BNE:
    return inst.get(bne::offset);
  case Opcode::BLT:
    return inst.get(blt::offset);
  case Opcode::BGE:
    return inst.get(bge::offset);
  default:
    return std::nullopt;
  }
}

} // namespace tessera::isa
