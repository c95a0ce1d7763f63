//===- LaneProgram.h - Running lane programs --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_LANEPROGRAM_H
#define TESSERA_SIM_NUMERICS_LANEPROGRAM_H

#include "tessera/ISA/MapProgram.h"
#include <array>
#include <cstdint>

namespace tessera::sim {

/// Elements that a lane program works on at a time (of the host; the modelled
/// number of lanes is another thing).
inline constexpr unsigned laneChunk = 128;

struct LaneRegisters {
  std::array<std::array<uint32_t, laneChunk>, isa::numLaneRegs> value;
};

/// Runs the program over the first `count` lanes; the inputs are in registers
/// 0, 1, …
void runLaneProgram(const isa::MapProgram &program, LaneRegisters &regs,
                    unsigned count);

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_LANEPROGRAM_H
