//===- ISADialect.cpp - The isa dialect -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/ISA/ISADialect.h"
#include "dialects/ISA/InstructionOps.h"

#include "dialects/ISA/ISADialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/ISA/ISAOps.cpp.inc"

namespace tessera::isa {

void ISADialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/ISA/ISAOps.cpp.inc"
      >();
}

} // namespace tessera::isa
