//===- InstructionTextTest.cpp - Assembly text and disassembly ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Instruction.h"
#include "gtest/gtest.h"

using namespace tessera::isa;

namespace {
Instruction make(Opcode opcode, std::initializer_list<int64_t> fields = {}) {
  Instruction inst;
  inst.opcode = opcode;
  std::copy(fields.begin(), fields.end(), inst.fields.begin());
  return inst;
}
} // namespace

TEST(InstructionText, Scalar) {
  EXPECT_EQ(print(make(Opcode::HALT)), "isa.halt");
  EXPECT_EQ(print(make(Opcode::LI, {3, -7})), "isa.li rd = r3, imm = -7");
  EXPECT_EQ(print(make(Opcode::TDADDI, {1, 2, 64})),
            "isa.td.addi td = t1, src = t2, imm = 64");
  EXPECT_EQ(print(make(Opcode::TRAP, {0xffffffff})),
            "isa.trap code = 4294967295");
}

TEST(InstructionText, FlagIsItsNameOrAbsent) {
  EXPECT_EQ(print(make(Opcode::STORE, {1, 2, 0, 0, 0, 0})),
            "isa.store dst = t1, src = t2");
  EXPECT_EQ(print(make(Opcode::STORE, {1, 2, 0, 0, 0, 1})),
            "isa.store dst = t1, src = t2, posted");
  EXPECT_EQ(print(make(Opcode::STORE, {1, 2, 1, 0, 1, 0})),
            "isa.store dst = t1, src = t2, clip, transpose");
}

TEST(InstructionText, MasksNamesAndSemaphores) {
  Instruction inst = make(Opcode::MMA, {2, 0, 1, 0b1, 0b110, 2, 4});
  inst.waits = {{{0, 1}, {3, 2}, {}}};
  inst.signals[0] = {1, 1};
  EXPECT_EQ(print(inst),
            "isa.mma acc = t2, a = t0, b = t1, m_dims = [0], n_dims = [1, 2], "
            "accumulate = reg, ra = r4 wait(s0 >= 1, s3 >= 2) "
            "signal(s1 += 1)");
  inst = make(Opcode::WAIT, {3});
  inst.waits[0] = {5, 1};
  EXPECT_EQ(print(inst), "isa.wait queue = mx wait(s5 >= 1)");
  EXPECT_EQ(print(make(Opcode::MAP, {0, 1, 0, 2, 0, 0, 0, 1, 0b100, 0, 0})),
            "isa.map program = 0, out0 = t1, out1 = t0, in0 = t2, in1 = t0, "
            "in2 = t0, in3 = t0, reduce = sum, reduce_dims = [2], "
            "accumulate = no, ra = r0, rb = r0");
  EXPECT_EQ(print(make(Opcode::REDUCE, {4, 1, 2, 3, 0b11, 1, 5, 6})),
            "isa.reduce kind = argmax, dst = t1, indices = t2, src = t3, "
            "dims = [0, 1], accumulate = yes, ra = r5, rb = r6");
  EXPECT_EQ(print(make(Opcode::SCAN, {3, 1, 2, 3, 0b10, 1, 0, 1, 0, 0})),
            "isa.scan kind = prod, dst = t1, total = t2, src = t3, "
            "dims = [1], exclusive, with_total, accumulate = no, ra = r0");
  EXPECT_EQ(print(make(Opcode::CONVERT, {1, 2, 3, 4, 1, 0, 0, 3, 1})),
            "isa.convert dst = t1, src = t2, scale = t3, zero = t4, "
            "use_scale, rounding = up, saturate");
}

TEST(InstructionText, LoopBodiesAreIndented) {
  const Instruction program[] = {
      make(Opcode::LOOP, {1, 8, 3}),
      make(Opcode::LOOPR, {2, 3, 1}),
      make(Opcode::COREID, {4}),
      make(Opcode::NUMCORES, {5}),
      make(Opcode::HALT),
  };
  EXPECT_EQ(disassemble(program),
            "     0  isa.loop rd = r1, count = 8, length = 3\n"
            "     1    isa.loopr rd = r2, ra = r3, length = 1\n"
            "     2      isa.coreid rd = r4\n"
            "     3    isa.numcores rd = r5\n"
            "     4  isa.halt\n");
}
