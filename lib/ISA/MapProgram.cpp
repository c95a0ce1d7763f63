//===- MapProgram.cpp - Lane programs of map ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/MapProgram.h"
#include "fmt/format.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>
#include <iterator>

namespace tessera::isa {

#define GET_LANE_TABLE
#include "tessera/ISA/Instructions.inc"

static constexpr unsigned headerBytes = 8, opBytes = 8;

static constexpr std::array<int8_t, 256> makeLaneIndex() {
  std::array<int8_t, 256> index{};
  index.fill(-1);
  for (size_t i = 0; i < std::size(laneOpTable); ++i)
    index[uint8_t(laneOpTable[i].opcode)] = int8_t(i);
  return index;
}
static constexpr std::array<int8_t, 256> laneIndex = makeLaneIndex();
static_assert(std::size(laneOpTable) <= 127, "the index holds signed bytes");

const LaneOpInfo *lookupLaneOp(uint8_t opcode) {
  int8_t index = laneIndex[opcode];
  return index < 0 ? nullptr : &laneOpTable[index];
}

const LaneOpInfo *lookupLaneOp(std::string_view mnemonic) {
  for (const LaneOpInfo &info : laneOpTable)
    if (info.mnemonic == mnemonic)
      return &info;
  return nullptr;
}

std::span<const LaneOpInfo> allLaneOps() { return laneOpTable; }

static unsigned countUnit(const MapProgram &program, LaneUnit unit) {
  return std::ranges::count_if(program.ops, [&](const LaneInst &inst) {
    return lookupLaneOp(uint8_t(inst.opcode))->unit == unit;
  });
}

unsigned MapProgram::aluOps() const { return countUnit(*this, LaneUnit::Alu); }
unsigned MapProgram::sfuOps() const { return countUnit(*this, LaneUnit::Sfu); }

//===----------------------------------------------------------------------===//
// What a program may hold
//===----------------------------------------------------------------------===//

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, "map program: " + message};
}

/// `written`: the lane registers that hold a value, as a bit mask.
static Status verifyOp(const LaneInst &inst, size_t position,
                       uint32_t &written) {
  const LaneOpInfo *info = lookupLaneOp(uint8_t(inst.opcode));
  if (!info)
    return invalid(fmt::format("operation {}: unknown opcode {:#04x}", position,
                               uint8_t(inst.opcode)));
  auto fail = [&](std::string message) {
    return invalid(fmt::format("operation {} ({}): {}", position,
                               info->mnemonic, message));
  };
  const uint8_t sources[] = {inst.a, inst.b, inst.c};
  for (unsigned i = 0; i < 3; ++i) {
    if (i >= info->operands) {
      if (sources[i] != 0)
        return fail(fmt::format("operand {} is unused and not 0", "abc"[i]));
      continue;
    }
    if (sources[i] >= numLaneRegs)
      return fail(fmt::format("register r{}; accepted: r0 to r{}", sources[i],
                              numLaneRegs - 1));
    if (!(written >> sources[i] & 1))
      return fail(
          fmt::format("reads r{}, which was never written", sources[i]));
  }
  if (!info->hasImm && inst.imm != 0)
    return fail("the immediate is unused and not 0");
  if (inst.dst >= numLaneRegs)
    return fail(fmt::format("register r{}; accepted: r0 to r{}", inst.dst,
                            numLaneRegs - 1));
  written |= 1u << inst.dst;
  return Status::success();
}

Status verify(const MapProgram &program) {
  if (program.inputs > maxMapInputs)
    return invalid(fmt::format("{} inputs; accepted: 0 to {}", program.inputs,
                               maxMapInputs));
  if (program.outputs < 1 || program.outputs > maxMapOutputs)
    return invalid(fmt::format("{} outputs; accepted: 1 to {}", program.outputs,
                               maxMapOutputs));
  if (program.ops.size() > maxMapOps)
    return invalid(fmt::format("{} operations; accepted: up to {}",
                               program.ops.size(), maxMapOps));
  uint32_t written = (1u << program.inputs) - 1;
  for (size_t i = 0; i < program.ops.size(); ++i)
    TESSERA_RETURN_IF_ERROR(verifyOp(program.ops[i], i, written));
  for (unsigned i = 0; i < maxMapOutputs; ++i) {
    uint8_t reg = program.outRegs[i];
    if (i >= program.outputs && reg != 0)
      return invalid(
          fmt::format("output {} is absent and its register not 0", i));
    if (i < program.outputs && (reg >= numLaneRegs || !(written >> reg & 1)))
      return invalid(
          fmt::format("output {} is r{}, which was never written", i, reg));
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Encoding, decoding, text
//===----------------------------------------------------------------------===//

Status encode(const MapProgram &program, std::vector<uint8_t> &out) {
  TESSERA_RETURN_IF_ERROR(verify(program));
  size_t at = out.size();
  out.resize(at + headerBytes + opBytes * program.ops.size());
  uint8_t *bytes = out.data() + at;
  bytes[0] = program.inputs;
  bytes[1] = program.outputs;
  storeLittleEndian(bytes + 2, uint16_t(program.ops.size()));
  bytes[4] = program.outRegs[0];
  bytes[5] = program.outRegs[1];
  bytes += headerBytes;
  for (const LaneInst &inst : program.ops) {
    storeLittleEndian(bytes, uint32_t(inst.opcode) | uint32_t(inst.dst) << 8 |
                                 uint32_t(inst.a) << 12 |
                                 uint32_t(inst.b) << 16 |
                                 uint32_t(inst.c) << 20);
    storeLittleEndian(bytes + 4, inst.imm);
    bytes += opBytes;
  }
  return Status::success();
}

static Result<MapProgram> decodeOne(ByteReader &reader) {
  MapProgram program;
  program.inputs = reader.read<uint8_t>();
  program.outputs = reader.read<uint8_t>();
  uint16_t numOps = reader.read<uint16_t>();
  reader.read(program.outRegs[0]);
  reader.read(program.outRegs[1]);
  if (reader.read<uint16_t>() != 0)
    return invalid("a reserved byte of the header is not 0");
  if (!reader.ok() || numOps > reader.remaining() / opBytes)
    return invalid("is cut off");
  program.ops.reserve(numOps);
  for (unsigned i = 0; i < numOps; ++i) {
    uint32_t bits = reader.read<uint32_t>();
    if (bits >> 24 != 0)
      return invalid(fmt::format("operation {}: a reserved bit is not 0", i));
    LaneInst inst;
    inst.opcode = LaneOpcode(bits & 0xff);
    inst.dst = bits >> 8 & 15;
    inst.a = bits >> 12 & 15;
    inst.b = bits >> 16 & 15;
    inst.c = bits >> 20 & 15;
    reader.read(inst.imm);
    program.ops.push_back(inst);
  }
  TESSERA_RETURN_IF_ERROR(verify(program));
  return program;
}

Result<std::vector<MapProgram>>
decodeMapPrograms(std::span<const uint8_t> bytes) {
  std::vector<MapProgram> programs;
  ByteReader reader(bytes);
  while (reader.remaining() > 0) {
    Result<MapProgram> program = decodeOne(reader);
    if (!program)
      return program.status().withContext(
          fmt::format("program {}", programs.size()));
    programs.push_back(std::move(*program));
  }
  return programs;
}

std::string print(const LaneInst &inst) {
  const LaneOpInfo &info = *lookupLaneOp(uint8_t(inst.opcode));
  std::string text = fmt::format("{} r{}", info.mnemonic, inst.dst);
  const uint8_t sources[] = {inst.a, inst.b, inst.c};
  for (unsigned i = 0; i < info.operands; ++i)
    fmt::format_to(std::back_inserter(text), ", r{}", sources[i]);
  if (info.hasImm)
    fmt::format_to(std::back_inserter(text), ", {:#010x}", inst.imm);
  return text;
}

} // namespace tessera::isa
