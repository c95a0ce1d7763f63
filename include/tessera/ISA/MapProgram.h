//===- MapProgram.h - Lane programs of map --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lane programs of `map` and their image in an object's .tsr.map section: the
// programs one after the other, each an 8-byte header
//   byte 0 inputs (<= 4)  1 outputs (<= 2)  2-3 number of operations (u16)
//   byte 4 output register 0  5 output register 1 (0 if absent)  6-7 reserved,
//   0
// followed by one 8-byte word per operation (Instructions.td says the fields).
// Inputs arrive in lane registers 0, 1, …
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_MAPPROGRAM_H
#define TESSERA_ISA_MAPPROGRAM_H

#include "tessera/Support/Status.h"
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::isa {

inline constexpr unsigned numLaneRegs = 16;
inline constexpr unsigned maxMapInputs = 4, maxMapOutputs = 2;
inline constexpr unsigned maxMapOps = 1024;

/// enum class LaneOpcode : uint8_t { CONST = 0x01, ADDF = 0x10, ... }
/// (generated)
#define GET_LANE_ENUMS
#include "tessera/ISA/Instructions.inc"

enum class LaneUnit : uint8_t { Alu, Sfu, Free };

struct LaneOpInfo {
  LaneOpcode opcode;
  std::string_view mnemonic;
  LaneUnit unit;
  uint8_t operands;
  bool hasImm;
};
const LaneOpInfo *lookupLaneOp(uint8_t opcode);
const LaneOpInfo *lookupLaneOp(std::string_view mnemonic);
std::span<const LaneOpInfo> allLaneOps();

struct LaneInst {
  LaneOpcode opcode{};
  uint8_t dst = 0, a = 0, b = 0, c = 0;
  uint32_t imm = 0;
  bool operator==(const LaneInst &) const = default;
};

struct MapProgram {
  uint8_t inputs = 0, outputs = 1;
  std::array<uint8_t, maxMapOutputs> outRegs{};
  std::vector<LaneInst> ops;

  /// Operations that take an ALU slot / an SFU slot.
  unsigned aluOps() const, sfuOps() const;
  bool operator==(const MapProgram &) const = default;
};

/// InvalidArgument on too many operations, bad registers or counts, and reads
/// of registers that were never written.
Status verify(const MapProgram &program);
/// Appends the image, if `verify` finds no error.
Status encode(const MapProgram &program, std::vector<uint8_t> &out);
/// Decodes a whole section; rejects unknown operations, reserved bits, reads of
/// registers that were never written, truncation.
Result<std::vector<MapProgram>>
decodeMapPrograms(std::span<const uint8_t> bytes);
/// One operation as the `isa` dialect prints it, e.g. `fma r2, r0, r1, r3` or
/// `const r4, 0x3f800000`.
std::string print(const LaneInst &inst);

} // namespace tessera::isa

#endif // TESSERA_ISA_MAPPROGRAM_H
