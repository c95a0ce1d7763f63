//===- Instruction.cpp - Tables, encoding and decoding --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Instruction.h"
#include "fmt/format.h"
#include "tessera/ISA/Descriptor.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>
#include <bit>

namespace tessera::isa {

#define GET_ISA_TABLE
#include "tessera/ISA/Instructions.inc"

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// Opcode → index in instTable, or -1.
static constexpr std::array<int8_t, 256> makeOpcodeIndex() {
  std::array<int8_t, 256> index{};
  index.fill(-1);
  for (size_t i = 0; i < std::size(instTable); ++i)
    index[uint8_t(instTable[i].opcode)] = int8_t(i);
  return index;
}
static constexpr std::array<int8_t, 256> opcodeIndex = makeOpcodeIndex();
static_assert(std::size(instTable) <= 127, "the index holds signed bytes");

const InstInfo *lookupInst(uint8_t opcode) {
  int8_t index = opcodeIndex[opcode];
  return index < 0 ? nullptr : &instTable[index];
}

const InstInfo *lookupInst(std::string_view mnemonic) {
  for (const InstInfo &info : instTable)
    if (info.mnemonic == mnemonic)
      return &info;
  return nullptr;
}

std::span<const InstInfo> allInsts() { return instTable; }

Queue Instruction::queue() const {
  const InstInfo &inst = info();
  if (inst.queue)
    return *inst.queue;
  for (size_t i = 0; i < inst.fields.size(); ++i)
    if (inst.fields[i].kind == OperandKind::Queue)
      return Queue(fields[i]);
    else if (inst.fields[i].kind == OperandKind::MatrixQueue)
      return matrixQueue(unsigned(fields[i]));
  return Queue::Seq;
}

//===----------------------------------------------------------------------===//
// What an instruction may hold
//===----------------------------------------------------------------------===//

namespace {
struct ValueRange {
  int64_t low, high;
};
} // namespace

static ValueRange rangeOf(const FieldInfo &field) {
  switch (field.kind) {
  case OperandKind::Dim:
    return {0, maxRank - 1};
  case OperandKind::Queue:
    return {0, numQueues - 1};
  case OperandKind::Accumulate:
    return {0, int64_t(Accumulate::Reg)};
  case OperandKind::Reduce:
    return {0, int64_t(Reduce::ArgMin)};
  case OperandKind::Reduction:
    return {0, int64_t(Reduce::ArgMin) - 1};
  default:
    break;
  }
  if (field.isSigned)
    return {-1 - int64_t(~0ull >> (65 - field.bits)),
            int64_t(~0ull >> (65 - field.bits))};
  assert(field.bits < 64 && "an unsigned field must fit an int64_t");
  return {0, int64_t((1ull << field.bits) - 1)};
}

static Status invalid(const InstInfo &info, std::string message) {
  return {StatusCode::InvalidArgument,
          fmt::format("{}: {}", info.mnemonic, message)};
}

/// A semaphore list: entries with a count come first, and none names a
/// semaphore twice.
static Status checkSteps(const InstInfo &info, std::string_view what,
                         std::span<const SemaphoreStep> steps, bool allowed) {
  bool atEnd = false;
  uint32_t seen = 0;
  for (const SemaphoreStep &step : steps) {
    if (step.count == 0) {
      if (step.sem != 0)
        return invalid(info, fmt::format("{} of s{} has the count 0; accepted: "
                                         "1 to {}",
                                         what, step.sem, maxSemaphoreStep));
      atEnd = true;
      continue;
    }
    if (!allowed)
      return invalid(info, fmt::format("cannot carry a {}", what));
    if (atEnd)
      return invalid(info, fmt::format("a {} follows an absent one", what));
    if (step.sem >= maxSemaphores)
      return invalid(info,
                     fmt::format("{} names semaphore {}; accepted: 0 to {}",
                                 what, step.sem, maxSemaphores - 1));
    if (step.count > maxSemaphoreStep)
      return invalid(info,
                     fmt::format("{} of s{} has the count {}; accepted: "
                                 "1 to {}",
                                 what, step.sem, step.count, maxSemaphoreStep));
    if (seen >> step.sem & 1)
      return invalid(info, fmt::format("{} names s{} twice", what, step.sem));
    seen |= 1u << step.sem;
  }
  return Status::success();
}

Status verify(const Instruction &inst) {
  const InstInfo *info = lookupInst(uint8_t(inst.opcode));
  if (!info)
    return {StatusCode::InvalidArgument,
            fmt::format("unknown opcode {:#04x}", uint8_t(inst.opcode))};
  for (size_t i = 0; i < maxFields; ++i) {
    if (i >= info->fields.size()) {
      if (inst.fields[i] != 0)
        return invalid(*info, fmt::format("has a value for field {}, but only "
                                          "{} fields",
                                          i, info->fields.size()));
      continue;
    }
    ValueRange range = rangeOf(info->fields[i]);
    if (inst.fields[i] < range.low || inst.fields[i] > range.high)
      return invalid(*info,
                     fmt::format("{} = {} does not fit; accepted: {} to {}",
                                 info->fields[i].name, inst.fields[i],
                                 range.low, range.high));
  }
  TESSERA_RETURN_IF_ERROR(
      checkSteps(*info, "wait", inst.waits, info->hasWaits));
  return checkSteps(*info, "signal", inst.signals, info->hasSignals);
}

Status verifyResources(const Instruction &inst, uint32_t semaphores,
                       uint32_t matrixEngines) {
  const InstInfo &info = inst.info();
  if (auto engine = matrixEngineOf(inst.queue());
      engine && *engine >= matrixEngines)
    return invalid(info, fmt::format("there is no queue {}: the core has {} "
                                     "matrix engine{}",
                                     queueName(inst.queue()), matrixEngines,
                                     matrixEngines == 1 ? "" : "s"));
  uint32_t highest = 0;
  for (std::span<const SemaphoreStep> steps :
       {std::span<const SemaphoreStep>(inst.waits),
        std::span<const SemaphoreStep>(inst.signals)})
    for (const SemaphoreStep &step : steps)
      highest = std::max<uint32_t>(highest, step.sem);
  if (inst.opcode == Opcode::SIGNALCORE)
    highest = uint32_t(inst.get(signal_core::sem));
  else if (inst.opcode == Opcode::LOADMULTICAST)
    highest = std::max(highest, uint32_t(inst.get(load_multicast::sem)));
  if (highest >= semaphores)
    return invalid(info,
                   fmt::format("there is no semaphore {}; accepted: 0 to {}",
                               highest, semaphores - 1));
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Encoding and decoding
//===----------------------------------------------------------------------===//

using Word = unsigned __int128;

static Word maskOf(const FieldInfo &field) {
  return ((Word(1) << field.bits) - 1) << field.lsb;
}

// The semaphore list in word 1.
static constexpr unsigned stepBits = 16, semBits = 5;
static constexpr unsigned signalsLsb = 48;
static constexpr uint64_t validBit = 1u << 15;

static uint64_t encodeStep(SemaphoreStep step) {
  return step.count == 0 ? 0 : step.sem | step.count << semBits | validBit;
}

static void append(Word word, std::vector<uint8_t> &out) {
  size_t at = out.size();
  out.resize(at + wordBytes);
  storeLittleEndian(out.data() + at, uint64_t(word));
  storeLittleEndian(out.data() + at + 8, uint64_t(word >> 64));
}

static Word loadWord(std::span<const uint8_t> bytes) {
  return Word(loadLittleEndian<uint64_t>(bytes.data() + 8)) << 64 |
         loadLittleEndian<uint64_t>(bytes.data());
}

Status encode(const Instruction &inst, std::vector<uint8_t> &out) {
  TESSERA_RETURN_IF_ERROR(verify(inst));
  const InstInfo &info = inst.info();
  Word word = uint8_t(inst.opcode);
  for (size_t i = 0; i < info.fields.size(); ++i) {
    const FieldInfo &field = info.fields[i];
    word |= Word(uint64_t(inst.fields[i])) << field.lsb & maskOf(field);
  }
  append(word, out);
  if (info.words == 1)
    return Status::success();

  Word list = 0;
  for (unsigned i = 0; i < maxWaits; ++i)
    list |= Word(encodeStep(inst.waits[i])) << (i * stepBits);
  for (unsigned i = 0; i < maxSignals; ++i)
    list |= Word(encodeStep(inst.signals[i])) << (signalsLsb + i * stepBits);
  append(list, out);
  return Status::success();
}

static Status decodeSteps(const InstInfo &info, std::string_view what,
                          uint64_t bits, std::span<SemaphoreStep> steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    uint64_t entry = bits >> (i * stepBits) & 0xffff;
    if (!(entry & validBit)) {
      if (entry != 0)
        return invalid(info,
                       fmt::format("{} {} is not valid and not 0", what, i));
      continue;
    }
    steps[i].sem = entry & ((1u << semBits) - 1);
    steps[i].count = entry >> semBits & maxSemaphoreStep;
    if (steps[i].count == 0)
      return invalid(
          info, fmt::format("{} {} is valid and has the count 0", what, i));
  }
  return Status::success();
}

Result<Decoded> decode(std::span<const uint8_t> bytes) {
  if (bytes.size() < wordBytes)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("an instruction word needs {} bytes, {} are left",
                              wordBytes, bytes.size()));
  Word word = loadWord(bytes);
  const InstInfo *info = lookupInst(uint8_t(word));
  if (!info)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("unknown opcode {:#04x}", uint8_t(word)));

  Decoded decoded;
  decoded.inst.opcode = info->opcode;
  decoded.bytes = info->words * wordBytes;
  if (bytes.size() < decoded.bytes)
    return invalid(*info, fmt::format("needs {} bytes, {} are left",
                                      decoded.bytes, bytes.size()));
  Word reserved = ~Word(0xff);
  for (size_t i = 0; i < info->fields.size(); ++i) {
    const FieldInfo &field = info->fields[i];
    reserved &= ~maskOf(field);
    uint64_t value = uint64_t((word & maskOf(field)) >> field.lsb);
    if (field.isSigned) {
      unsigned shift = 64 - field.bits;
      decoded.inst.fields[i] = int64_t(value << shift) >> shift;
    } else {
      decoded.inst.fields[i] = int64_t(value);
    }
  }
  if (Word wrong = word & reserved; wrong != 0) {
    auto low = uint64_t(wrong), high = uint64_t(wrong >> 64);
    unsigned bit =
        unsigned(low ? std::countr_zero(low) : 64 + std::countr_zero(high));
    return invalid(*info, fmt::format("bit {} is reserved and not 0", bit));
  }

  if (info->words == 2) {
    Word list = loadWord(bytes.subspan(wordBytes));
    constexpr unsigned listBits = (maxWaits + maxSignals) * stepBits;
    if (list >> listBits != 0)
      return invalid(*info, "a reserved bit of the semaphore list is not 0");
    TESSERA_RETURN_IF_ERROR(
        decodeSteps(*info, "wait", uint64_t(list), decoded.inst.waits));
    TESSERA_RETURN_IF_ERROR(decodeSteps(
        *info, "signal", uint64_t(list >> signalsLsb), decoded.inst.signals));
  }
  TESSERA_RETURN_IF_ERROR(verify(decoded.inst));
  return decoded;
}

Result<std::vector<Instruction>> decodeProgram(std::span<const uint8_t> bytes) {
  std::vector<Instruction> program;
  while (!bytes.empty()) {
    Result<Decoded> decoded = decode(bytes);
    if (!decoded)
      return decoded.status().withContext(
          fmt::format("instruction {}", program.size()));
    program.push_back(decoded->inst);
    bytes = bytes.subspan(decoded->bytes);
  }
  return program;
}

} // namespace tessera::isa
