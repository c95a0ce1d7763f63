//===- InstructionTest.cpp - Encoding and decoding of instructions --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Instruction.h"
#include "tessera/Support/Random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <limits>

using namespace tessera;
using namespace tessera::isa;
using testing::HasSubstr;

namespace {

struct Limits {
  int64_t low, high;
};

/// What a field may hold, said here a second time and independently.
Limits limitsOf(const FieldInfo &field) {
  switch (field.kind) {
  case OperandKind::ScalarReg:
  case OperandKind::DescReg:
    return {0, 31};
  case OperandKind::Flag:
    return {0, 1};
  case OperandKind::DimMask:
    return {0, 63};
  case OperandKind::Dim:
    return {0, 5};
  case OperandKind::Queue:
    return {0, 11};
  case OperandKind::MatrixQueue:
    return {0, 7};
  case OperandKind::Accumulate:
    return {0, 2};
  case OperandKind::Reduce:
    return {0, 6};
  case OperandKind::Reduction:
    return {0, 5};
  case OperandKind::Scan:
  case OperandKind::Rounding:
    return {0, 3};
  case OperandKind::Unsigned:
    return {0, field.bits == 16 ? 0xffff : 0xffffffff};
  case OperandKind::Signed:
    if (field.bits == 32)
      return {std::numeric_limits<int32_t>::min(),
              std::numeric_limits<int32_t>::max()};
    return {std::numeric_limits<int64_t>::min(),
            std::numeric_limits<int64_t>::max()};
  }
  return {0, 0};
}

void expectRoundTrip(const Instruction &inst) {
  SCOPED_TRACE(print(inst));
  std::vector<uint8_t> bytes;
  Status status = encode(inst, bytes);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(bytes.size(), inst.info().words * wordBytes);
  Result<Decoded> decoded = decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded->inst, inst);
  EXPECT_EQ(decoded->bytes, bytes.size());
  std::vector<uint8_t> again;
  ASSERT_TRUE(encode(decoded->inst, again).ok());
  EXPECT_EQ(again, bytes);
}

void expectRefused(const Instruction &inst, std::string_view message) {
  std::vector<uint8_t> bytes;
  Status status = encode(inst, bytes);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(message));
  EXPECT_TRUE(bytes.empty()) << "a refused instruction leaves no bytes";
}

Instruction make(Opcode opcode) {
  Instruction inst;
  inst.opcode = opcode;
  return inst;
}

} // namespace

TEST(Instruction, TableIsConsistent) {
  EXPECT_EQ(allInsts().size(), 58u);
  for (const InstInfo &info : allInsts()) {
    EXPECT_EQ(lookupInst(uint8_t(info.opcode)), &info);
    EXPECT_EQ(lookupInst(info.mnemonic), &info);
  }
  EXPECT_EQ(lookupInst(uint8_t(0)), nullptr);
  EXPECT_EQ(lookupInst(uint8_t(0xff)), nullptr);
  EXPECT_EQ(lookupInst("no such"), nullptr);
}

TEST(Instruction, EveryFieldAtBothLimits) {
  for (const InstInfo &info : allInsts()) {
    Instruction lowest = make(info.opcode), highest = lowest;
    for (size_t i = 0; i < info.fields.size(); ++i) {
      auto [low, high] = limitsOf(info.fields[i]);
      lowest.fields[i] = low;
      highest.fields[i] = high;
      for (int64_t value : {low, high}) {
        Instruction alone = make(info.opcode);
        alone.fields[i] = value;
        expectRoundTrip(alone);
      }
    }
    if (info.hasWaits)
      highest.waits = {{{31, 1023}, {0, 1}, {30, 512}}};
    if (info.hasSignals)
      highest.signals = {{{31, 1023}, {0, 1}, {30, 512}}};
    expectRoundTrip(lowest);
    expectRoundTrip(highest);
  }
}

TEST(Instruction, FieldsDoNotDisturbEachOther) {
  Random random(1);
  for (const InstInfo &info : allInsts())
    for (int round = 0; round < 50; ++round) {
      Instruction inst = make(info.opcode);
      for (size_t i = 0; i < info.fields.size(); ++i) {
        auto [low, high] = limitsOf(info.fields[i]);
        inst.fields[i] = random.between(low, high);
      }
      if (info.hasWaits)
        inst.waits[0] = {uint8_t(random.below(32)),
                         uint16_t(1 + random.below(1023))};
      if (info.hasSignals)
        inst.signals[0] = {uint8_t(random.below(32)),
                           uint16_t(1 + random.below(1023))};
      expectRoundTrip(inst);
    }
}

TEST(Instruction, ValuesThatDoNotFitAreRefused) {
  for (const InstInfo &info : allInsts())
    for (size_t i = 0; i < info.fields.size(); ++i) {
      const FieldInfo &field = info.fields[i];
      auto [low, high] = limitsOf(field);
      Instruction inst = make(info.opcode);
      if (low > std::numeric_limits<int64_t>::min()) {
        inst.fields[i] = low - 1;
        expectRefused(inst, field.name);
        inst.fields[i] = std::numeric_limits<int64_t>::min();
        expectRefused(inst, info.mnemonic);
      }
      if (high < std::numeric_limits<int64_t>::max()) {
        inst.fields[i] = high + 1;
        expectRefused(inst, "does not fit");
        inst.fields[i] = std::numeric_limits<int64_t>::max();
        expectRefused(inst, std::to_string(high));
      }
    }
}

TEST(Instruction, ValueBeyondTheFieldsIsRefused) {
  Instruction inst = make(Opcode::HALT);
  inst.fields[0] = 1;
  expectRefused(inst, "halt");
}

TEST(Instruction, UnknownOpcodeIsRefused) {
  expectRefused(make(Opcode(0xee)), "unknown opcode 0xee");
}

TEST(Instruction, SemaphoreListsAreChecked) {
  Instruction inst = make(Opcode::LOAD);
  inst.waits[0] = {32, 1};
  expectRefused(inst, "semaphore 32");
  inst.waits[0] = {3, 1024};
  expectRefused(inst, "count 1024");
  inst.waits[0] = {3, 0};
  expectRefused(inst, "count 0");
  inst.waits = {{{3, 1}, {3, 2}, {}}};
  expectRefused(inst, "s3 twice");
  inst.waits = {{{3, 1}, {}, {4, 1}}};
  expectRefused(inst, "absent");
  inst.waits = {};
  inst.signals = {{{5, 1}, {6, 1}, {5, 1}}};
  expectRefused(inst, "s5 twice");
}

TEST(Instruction, SemaphoreListsOnlyWhereTheTableAllowsThem) {
  Instruction wait = make(Opcode::WAIT);
  wait.signals[0] = {1, 1};
  expectRefused(wait, "cannot carry a signal");
  Instruction signal = make(Opcode::SIGNAL);
  signal.waits[0] = {1, 1};
  expectRefused(signal, "cannot carry a wait");
  Instruction add = make(Opcode::ADD);
  add.waits[0] = {1, 1};
  expectRefused(add, "cannot carry a wait");
}

TEST(Instruction, BitsAreWhereTheReferenceSaysTheyAre) {
  Instruction inst = make(Opcode::MMA);
  inst.fields[mma::acc] = 1;
  inst.fields[mma::a] = 2;
  inst.fields[mma::b] = 3;
  inst.fields[mma::m_dims] = 0b101;
  inst.fields[mma::n_dims] = 0b10;
  inst.fields[mma::accumulate] = int64_t(Accumulate::Reg);
  inst.fields[mma::ra] = 4;
  inst.waits[0] = {7, 9};
  inst.signals[2] = {};
  inst.signals[0] = {8, 10};
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(encode(inst, bytes).ok());
  ASSERT_EQ(bytes.size(), 32u);
  uint64_t word0 = 0x60 | 1ull << 8 | 2ull << 13 | 3ull << 18 | 5ull << 23 |
                   2ull << 29 | 2ull << 35 | 4ull << 37;
  uint64_t list = (7 | 9 << 5 | 1ull << 15) | (8 | 10 << 5 | 1ull << 15) << 48;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(bytes[i], uint8_t(word0 >> 8 * i)) << i;
    EXPECT_EQ(bytes[8 + i], 0) << i;
    EXPECT_EQ(bytes[16 + i], uint8_t(list >> 8 * i)) << i;
    EXPECT_EQ(bytes[24 + i], 0) << i;
  }
}

TEST(Instruction, EveryReservedBitIsRefused) {
  for (const InstInfo &info : allInsts()) {
    std::vector<bool> known(info.words * 128);
    std::fill_n(known.begin(), 8, true);
    for (const FieldInfo &field : info.fields)
      std::fill_n(known.begin() + field.lsb, field.bits, true);
    std::vector<uint8_t> bytes;
    ASSERT_TRUE(encode(make(info.opcode), bytes).ok());
    for (size_t bit = 8; bit < known.size(); ++bit) {
      std::vector<uint8_t> changed = bytes;
      changed[bit / 8] ^= 1 << bit % 8;
      bool lonelyListBit = bit >= 128; // Not valid, or valid with count 0.
      if (!known[bit] || lonelyListBit)
        EXPECT_FALSE(decode(changed).ok()) << info.mnemonic << " bit " << bit;
    }
  }
}

TEST(Instruction, TruncationIsRefused) {
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(encode(make(Opcode::MMA), bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode(std::span(bytes).first(size)).ok()) << size;
}

TEST(Instruction, RandomWordsReencodeToTheSameBits) {
  Random random(2);
  int accepted = 0;
  for (int round = 0; round < 1'000'000; ++round) {
    std::vector<uint8_t> bytes(32);
    for (uint8_t &byte : bytes)
      byte = uint8_t(random.next());
    // Half of the words get a known opcode and few other bits.
    if (round % 2 == 0) {
      bytes.assign(32, 0);
      bytes[0] = uint8_t(allInsts()[random.below(allInsts().size())].opcode);
      for (uint64_t i = random.below(6); i > 0; --i)
        bytes[1 + random.below(31)] ^= 1 << random.below(8);
    }
    Result<Decoded> decoded = decode(bytes);
    if (!decoded.ok())
      continue;
    ++accepted;
    std::vector<uint8_t> again;
    ASSERT_TRUE(encode(decoded->inst, again).ok());
    bytes.resize(decoded->bytes);
    ASSERT_EQ(again, bytes) << print(decoded->inst);
  }
  EXPECT_GT(accepted, 50'000);
}

TEST(Instruction, ProgramsDecodeWholly) {
  std::vector<uint8_t> bytes;
  Instruction li = make(Opcode::LI), fill = make(Opcode::FILL);
  li.fields[li::imm] = -1;
  fill.signals[0] = {1, 1};
  for (const Instruction &inst : {li, fill, make(Opcode::HALT)})
    ASSERT_TRUE(encode(inst, bytes).ok());
  Result<std::vector<Instruction>> program = decodeProgram(bytes);
  ASSERT_TRUE(program.ok());
  EXPECT_THAT(*program, testing::ElementsAre(li, fill, make(Opcode::HALT)));
  bytes.pop_back();
  EXPECT_THAT(decodeProgram(bytes).status().message(),
              HasSubstr("instruction 2"));
}

TEST(Instruction, QueueComesFromTheTableOrTheField) {
  EXPECT_EQ(make(Opcode::ADD).queue(), Queue::Seq);
  EXPECT_EQ(make(Opcode::LOAD).queue(), Queue::Ld);
  EXPECT_EQ(make(Opcode::STORE).queue(), Queue::St);
  EXPECT_EQ(make(Opcode::MMA).queue(), Queue::Mx);
  for (unsigned engine = 0; engine < maxMatrixEngines; ++engine) {
    Instruction mma = make(Opcode::MMA);
    mma.fields[mma::queue] = engine;
    EXPECT_EQ(mma.queue(), matrixQueue(engine));
    EXPECT_EQ(matrixEngineOf(mma.queue()), engine);
  }
  EXPECT_EQ(matrixEngineOf(Queue::Vx), std::nullopt);
  EXPECT_EQ(make(Opcode::MAP).queue(), Queue::Vx);
  Instruction inst = make(Opcode::WAIT);
  inst.fields[wait::queue] = int64_t(Queue::Vx);
  EXPECT_EQ(inst.queue(), Queue::Vx);
}

TEST(Instruction, ResourcesOfACore) {
  Instruction mma = make(Opcode::MMA);
  mma.fields[mma::queue] = 2;
  EXPECT_TRUE(verifyResources(mma, 32, 3).ok());
  EXPECT_EQ(verifyResources(mma, 32, 2).message(),
            "mma: there is no queue mx2: the core has 2 matrix engines");
  EXPECT_EQ(verifyResources(mma, 32, 1).message(),
            "mma: there is no queue mx2: the core has 1 matrix engine");
  Instruction wait = make(Opcode::WAIT), core = make(Opcode::SIGNALCORE),
              multicast = make(Opcode::LOADMULTICAST);
  wait.waits[0] = {7, 1};
  core.fields[signal_core::sem] = 7;
  multicast.fields[load_multicast::sem] = 7;
  for (const Instruction &inst : {wait, core, multicast}) {
    EXPECT_TRUE(verifyResources(inst, 8, 1).ok());
    EXPECT_THAT(verifyResources(inst, 7, 1).message(),
                HasSubstr("there is no semaphore 7; accepted: 0 to 6"));
  }
}
