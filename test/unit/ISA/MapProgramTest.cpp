//===- MapProgramTest.cpp - Lane programs ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/MapProgram.h"
#include "tessera/Support/Random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::isa;
using testing::HasSubstr;

namespace {

/// max(in0 * in1 + in2, 0)
MapProgram epilogue() {
  MapProgram program;
  program.inputs = 3;
  program.outRegs[0] = 5;
  program.ops = {{LaneOpcode::FMA, 3, 0, 1, 2},
                 {LaneOpcode::CONST, 4},
                 {LaneOpcode::MAXF, 5, 3, 4}};
  return program;
}

std::vector<uint8_t> imageOf(const MapProgram &program) {
  std::vector<uint8_t> bytes;
  Status status = encode(program, bytes);
  EXPECT_TRUE(status.ok()) << status.message();
  return bytes;
}

void expectRefused(const MapProgram &program, std::string_view message) {
  std::vector<uint8_t> bytes;
  Status status = encode(program, bytes);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << message;
  EXPECT_THAT(status.message(), HasSubstr(message));
  EXPECT_TRUE(bytes.empty());
}

} // namespace

TEST(MapProgram, SectionRoundTrip) {
  MapProgram two = epilogue();
  two.outputs = 2;
  two.outRegs[1] = 3;
  MapProgram copy; // No operation at all.
  copy.inputs = 1;
  std::vector<uint8_t> bytes;
  for (const MapProgram &program : {epilogue(), copy, two})
    ASSERT_TRUE(encode(program, bytes).ok());
  EXPECT_EQ(bytes.size(), (8 + 24) + 8 + (8 + 24u));
  auto programs = decodeMapPrograms(bytes);
  ASSERT_TRUE(programs.ok()) << programs.status().message();
  EXPECT_THAT(*programs, testing::ElementsAre(epilogue(), copy, two));
}

TEST(MapProgram, EveryOperationRoundTrips) {
  for (const LaneOpInfo &info : allLaneOps()) {
    EXPECT_EQ(lookupLaneOp(uint8_t(info.opcode)), &info);
    EXPECT_EQ(lookupLaneOp(info.mnemonic), &info);
    MapProgram program;
    program.inputs = 4;
    program.outRegs[0] = 15;
    LaneInst inst{info.opcode, 15};
    if (info.operands > 0)
      inst.a = 3;
    if (info.operands > 1)
      inst.b = 2;
    if (info.operands > 2)
      inst.c = 1;
    if (info.hasImm)
      inst.imm = 0xffffffff;
    program.ops = {inst};
    auto programs = decodeMapPrograms(imageOf(program));
    ASSERT_TRUE(programs.ok()) << programs.status().message();
    EXPECT_THAT(*programs, testing::ElementsAre(program)) << info.mnemonic;
    EXPECT_EQ(program.aluOps(), info.unit == LaneUnit::Alu);
    EXPECT_EQ(program.sfuOps(), info.unit == LaneUnit::Sfu);
  }
}

TEST(MapProgram, CountsSlots) {
  EXPECT_EQ(epilogue().aluOps(), 2u);
  EXPECT_EQ(epilogue().sfuOps(), 0u);
}

TEST(MapProgram, MalformedProgramsAreRefused) {
  auto change = [](auto change) {
    MapProgram program = epilogue();
    change(program);
    return program;
  };
  expectRefused(change([](auto &p) { p.inputs = 5; }), "5 inputs");
  expectRefused(change([](auto &p) { p.outputs = 0; }), "0 outputs");
  expectRefused(change([](auto &p) { p.outputs = 3; }), "3 outputs");
  expectRefused(change([](auto &p) { p.outRegs[0] = 6; }), "never written");
  expectRefused(change([](auto &p) { p.outRegs[1] = 1; }), "absent");
  expectRefused(change([](auto &p) { p.inputs = 2; }), "reads r2");
  expectRefused(change([](auto &p) { p.ops[0].dst = 16; }), "r16");
  expectRefused(change([](auto &p) { p.ops[0].a = 16; }), "r16");
  expectRefused(change([](auto &p) { p.ops[0].imm = 1; }), "immediate");
  expectRefused(change([](auto &p) { p.ops[2].c = 1; }), "unused");
  expectRefused(change([](auto &p) { p.ops[1].opcode = LaneOpcode(2); }),
                "unknown opcode 0x02");
  expectRefused(change([](auto &p) { p.ops.resize(1025, p.ops[0]); }),
                "1025 operations");
}

TEST(MapProgram, EveryTruncationIsRefused) {
  std::vector<uint8_t> bytes = imageOf(epilogue());
  for (size_t size = 1; size < bytes.size(); ++size)
    EXPECT_FALSE(decodeMapPrograms(std::span(bytes).first(size)).ok()) << size;
}

TEST(MapProgram, RandomImagesReencodeToTheSameBytes) {
  Random random(4);
  int accepted = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::vector<uint8_t> bytes = imageOf(epilogue());
    for (uint64_t i = random.below(3); i > 0; --i)
      bytes[random.below(bytes.size())] ^= 1 << random.below(8);
    auto programs = decodeMapPrograms(bytes);
    if (!programs.ok())
      continue;
    ++accepted;
    std::vector<uint8_t> again;
    for (const MapProgram &program : *programs)
      ASSERT_TRUE(encode(program, again).ok());
    ASSERT_EQ(again, bytes);
  }
  EXPECT_GT(accepted, 10'000);
}

TEST(MapProgram, Text) {
  EXPECT_EQ(print(LaneInst{LaneOpcode::FMA, 2, 0, 1, 3}), "fma r2, r0, r1, r3");
  EXPECT_EQ(print(LaneInst{LaneOpcode::CONST, 4, 0, 0, 0, 0x3f800000}),
            "const r4, 0x3f800000");
  EXPECT_EQ(print(LaneInst{LaneOpcode::EXP, 4, 1}), "exp r4, r1");
}
