//===- Operands.cpp - Which operands an instruction uses ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Operands.h"

namespace tessera::isa {

static bool isArg(Reduce kind) {
  return kind == Reduce::ArgMax || kind == Reduce::ArgMin;
}

static bool mapUses(const Instruction &inst, unsigned field,
                    const MapProgram *program) {
  switch (field) {
  case map::in0:
    return program && program->inputs > 0;
  case map::in1:
    return program && program->inputs > 1;
  case map::in2:
    return program && program->inputs > 2;
  case map::in3:
    return program && program->inputs > 3;
  case map::out1:
    return (program && program->outputs > 1) ||
           isArg(Reduce(inst.get(map::reduce)));
  default:
    return true;
  }
}

bool usesOperand(const Instruction &inst, unsigned field,
                 const MapProgram *program) {
  auto has = [&](unsigned flag) { return inst.get(flag) != 0; };
  switch (inst.opcode) {
  case Opcode::MAP:
    return mapUses(inst, field, program);
  case Opcode::REDUCE:
    return field != reduce::indices ||
           isArg(Reduce(inst.get(reduce::kind) + 1));
  case Opcode::SCAN:
    return field != scan::total || has(scan::with_total) ||
           Accumulate(inst.get(scan::accumulate)) != Accumulate::No;
  case Opcode::SELECT:
    return field != select::b || !has(select::keep);
  case Opcode::CONVERT:
    return (field != convert::scale || has(convert::use_scale)) &&
           (field != convert::zero || has(convert::use_zero));
  default:
    return true;
  }
}

} // namespace tessera::isa
