//===- LaneProgram.h - Running lane programs --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_LANEPROGRAM_H
#define TESSERA_SIM_NUMERICS_LANEPROGRAM_H

#include "tessera/ISA/Instruction.h"
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

/// A reduction in the order that the ISA fixes: value j goes to partial result
/// j mod 64, then a binary tree of neighbours.
class Reduction {
public:
  static constexpr unsigned ways = 64;

  Reduction(isa::Reduce kind, bool isFloat);
  void reset();
  void add(uint32_t value);
  uint32_t finish() const;
  uint32_t combine(uint32_t a, uint32_t b) const;

private:
  isa::Reduce kind;
  bool isFloat;
  uint32_t identity;
  std::array<uint32_t, ways> partial;
  unsigned next = 0;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_LANEPROGRAM_H
