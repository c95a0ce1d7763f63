//===- ProgramCheckTest.cpp -----------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/ProgramCheck.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using isa::Instruction;
using isa::Opcode;
using isa::Queue;
using testing::HasSubstr;

namespace {

Instruction inst(Opcode opcode, std::vector<int64_t> fields = {},
                 std::vector<isa::SemaphoreStep> waits = {},
                 std::vector<isa::SemaphoreStep> signals = {}) {
  Instruction result;
  result.opcode = opcode;
  std::copy(fields.begin(), fields.end(), result.fields.begin());
  std::copy(waits.begin(), waits.end(), result.waits.begin());
  std::copy(signals.begin(), signals.end(), result.signals.begin());
  return result;
}

isa::Descriptor descriptor(isa::Space space, uint32_t extent,
                           uint64_t base = 0) {
  isa::Descriptor td;
  td.space = space;
  td.rank = 1;
  td.extents[0] = extent;
  td.strides[0] = 1;
  td.base = base;
  return td;
}

class ProgramCheckTest : public testing::Test {
protected:
  ProgramCheckTest() {
    options.spmBytes = 1024;
    options.accBytes = 256;
    options.argumentBytes = {4096};
  }
  std::string check(std::vector<Instruction> program,
                    std::vector<isa::Descriptor> descriptors = {}) {
    program.push_back(inst(Opcode::HALT));
    result = checkProgram(program, descriptors, mapPrograms, options);
    return result.status.message();
  }
  ProgramCheckOptions options;
  ProgramCheckResult result;
  std::vector<isa::MapProgram> mapPrograms;
};

const int64_t mx = int64_t(Queue::Mx), vx = int64_t(Queue::Vx);

} // namespace

TEST_F(ProgramCheckTest, BalancedSemaphoresPass) {
  EXPECT_EQ(check({inst(Opcode::LOOP, {0, 3, 2}),
                   inst(Opcode::SIGNAL, {mx}, {}, {{0, 1}}),
                   inst(Opcode::WAIT, {vx}, {{0, 1}})}),
            "");
}

TEST_F(ProgramCheckTest, WaitForALaterSignalIsADeadlock) {
  EXPECT_THAT(check({inst(Opcode::WAIT, {vx}, {{0, 1}}),
                     inst(Opcode::SIGNAL, {mx}, {}, {{0, 1}})}),
              HasSubstr("deadlock: waits for s0 >= 1, which is 0"));
  EXPECT_EQ(result.instruction, 0u);
}

TEST_F(ProgramCheckTest, SemaphoreLeftAtHalt) {
  EXPECT_EQ(check({inst(Opcode::SIGNAL, {mx}, {}, {{5, 2}})}),
            "semaphore s5 is 2 at halt");
}

TEST_F(ProgramCheckTest, SemaphoreHasOneWaiter) {
  EXPECT_EQ(check({inst(Opcode::SIGNAL, {mx}, {}, {{0, 2}}),
                   inst(Opcode::WAIT, {vx}, {{0, 1}}),
                   inst(Opcode::WAIT, {mx}, {{0, 1}})}),
            "two queues wait on semaphore s0");
}

TEST_F(ProgramCheckTest, SemaphoreOverflows) {
  EXPECT_EQ(check({inst(Opcode::LOOP, {0, 65, 1}),
                   inst(Opcode::SIGNAL, {mx}, {}, {{0, 1023}})}),
            "semaphore s0 overflows");
}

TEST_F(ProgramCheckTest, SemaphoreBeyondTheArchitecture) {
  options.semaphores = 4;
  EXPECT_EQ(check({inst(Opcode::SIGNAL, {mx}, {}, {{4, 1}})}),
            "semaphore s4 does not exist");
}

TEST_F(ProgramCheckTest, MatrixEngineBeyondTheArchitecture) {
  const int64_t mx2 = int64_t(Queue::Mx2);
  for (uint32_t engines : {1u, 2u, 3u}) {
    options.matrixEngines = engines;
    EXPECT_EQ(check({inst(Opcode::SIGNAL, {mx2}, {}, {{0, 1}}),
                     inst(Opcode::WAIT, {vx}, {{0, 1}})}),
              engines < 3 ? "queue mx2 does not exist" : "");
  }
}

TEST_F(ProgramCheckTest, DescriptorOutOfBoundsInALaterIteration) {
  // Base 0, 512, 1024: the third reaches beyond SPM.
  std::vector<Instruction> program{
      inst(Opcode::TDLOAD, {0, 0}), inst(Opcode::LOOP, {1, 2, 3}),
      inst(Opcode::MULI, {2, 1, 512}), inst(Opcode::TDADD, {1, 0, 2}),
      inst(Opcode::FILL, {1, 0})};
  std::vector<isa::Descriptor> descriptors{descriptor(isa::Space::Spm, 128)};
  EXPECT_EQ(check(program, descriptors), "");
  program[1] = inst(Opcode::LOOP, {1, 3, 3});
  EXPECT_EQ(check(program, descriptors),
            "t1 reaches bytes 1024 to 1535 of SPM, which has 1024");
  EXPECT_EQ(result.instruction, 4u);
}

TEST_F(ProgramCheckTest, ArgumentOutOfBounds) {
  std::vector<Instruction> program{
      inst(Opcode::TDLOAD, {0, 0}), inst(Opcode::TDLOAD, {1, 1}),
      inst(Opcode::LDARG, {0, 0}), inst(Opcode::TDADD, {2, 0, 0}),
      inst(Opcode::LOAD, {1, 2})};
  EXPECT_EQ(check(program, {descriptor(isa::Space::Global, 16, 4032),
                            descriptor(isa::Space::Spm, 16)}),
            "");
  EXPECT_EQ(check(program, {descriptor(isa::Space::Global, 16, 4036),
                            descriptor(isa::Space::Spm, 16)}),
            "t2 reaches bytes 4036 to 4099 of argument 0, which has 4096");
}

TEST_F(ProgramCheckTest, UnsetDescriptor) {
  EXPECT_EQ(check({inst(Opcode::FILL, {3, 0})}),
            "descriptor register t3 is not set");
}

TEST_F(ProgramCheckTest, MapUsesTheOperandsOfItsProgram) {
  isa::MapProgram program;
  program.inputs = 1;
  mapPrograms.push_back(program);
  // in1 .. in3 and out1 are 0 and t0 is not set: not used.
  Instruction map = inst(Opcode::MAP);
  map.fields[isa::map::in0] = 1;
  map.fields[isa::map::out0] = 1;
  std::vector<isa::Descriptor> descriptors{descriptor(isa::Space::Acc, 64)};
  EXPECT_EQ(check({inst(Opcode::TDLOAD, {1, 0}), map}, descriptors), "");
  mapPrograms[0].inputs = 2;
  EXPECT_EQ(check({inst(Opcode::TDLOAD, {1, 0}), map}, descriptors),
            "descriptor register t0 is not set");
}

TEST_F(ProgramCheckTest, LoopFromRegisterMayBeEmpty) {
  // Core 1 of 2 has no iteration.
  std::vector<Instruction> program{
      inst(Opcode::COREID, {0}), inst(Opcode::LI, {1, 1}),
      inst(Opcode::SUB, {1, 1, 0}), inst(Opcode::LOOPR, {2, 1, 1}),
      inst(Opcode::SIGNAL, {mx}, {}, {{0, 1}})};
  options.numCores = 2;
  EXPECT_EQ(check(program), "core 0: semaphore s0 is 1 at halt");
  EXPECT_EQ(result.core, 0u);
}

TEST_F(ProgramCheckTest, EndlessLoopIsGivenUp) {
  options.maxSteps = 1000;
  EXPECT_EQ(check({inst(Opcode::JUMP, {0})}), "");
  EXPECT_EQ(result.unproven, "it runs for more than 1000 instructions");
  // A program of exactly as many is proven.
  EXPECT_EQ(check({inst(Opcode::LOOP, {0, 998, 1}), inst(Opcode::LI, {1, 0})}),
            "");
  EXPECT_EQ(result.unproven, "");
}

TEST_F(ProgramCheckTest, WhatOnlyTheDeviceKnowsEndsTheProof) {
  EXPECT_EQ(check({inst(Opcode::LDS, {1, 0, 0}), inst(Opcode::LOOPR, {2, 1, 1}),
                   inst(Opcode::LI, {3, 0})}),
            "");
  EXPECT_EQ(result.unproven, "a loop's count is not known");
  EXPECT_EQ(result.instruction, 1u);
  EXPECT_EQ(check({inst(Opcode::LDARG, {1, 0}), inst(Opcode::BEQ, {1, 2, 1})}),
            "");
  EXPECT_EQ(result.unproven, "a branch's condition is not known");
}

TEST_F(ProgramCheckTest, CoresSignalEachOther) {
  // Core 0 signals s0 of core 1 and waits for s1, which core 1 signals back.
  auto program = [](int64_t answer) {
    return std::vector<Instruction>{
        inst(Opcode::COREID, {0}),
        inst(Opcode::LI, {1, 1}),
        inst(Opcode::BEQ, {0, 1, 5}), // core 1 goes to its own part
        inst(Opcode::LI, {2, 1}),
        inst(Opcode::SIGNALCORE, {mx, 2, 0, 1}),
        inst(Opcode::WAIT, {vx}, {{1, 1}}),
        inst(Opcode::JUMP, {4}),
        inst(Opcode::WAIT, {vx}, {{0, 1}}),
        inst(Opcode::LI, {2, 0}),
        inst(Opcode::SIGNALCORE, {mx, 2, 1, answer})};
  };
  options.numCores = 2;
  EXPECT_EQ(check(program(1)), "");
  EXPECT_EQ(result.unproven, "");
  EXPECT_EQ(check(program(2)), "core 0: semaphore s1 is 1 at halt");
  // Nobody signals core 1.
  std::vector<Instruction> lost = program(1);
  lost[4] = inst(Opcode::MARK, {0});
  EXPECT_THAT(check(lost),
              HasSubstr("core 0: deadlock: waits for s1 >= 1, which is 0"));
  EXPECT_EQ(result.instruction, 5u);
  // One core alone has nobody to signal.
  options.numCores = 1;
  EXPECT_EQ(check(program(1)), "signals core 1 of a dispatch of 1");
}

TEST_F(ProgramCheckTest, BarriersNeedAllCores) {
  options.numCores = 3;
  EXPECT_EQ(check({inst(Opcode::BARRIER), inst(Opcode::BARRIER)}), "");
  // Core 0 leaves out the barrier.
  EXPECT_EQ(check({inst(Opcode::COREID, {0}), inst(Opcode::BEQ, {0, 1, 2}),
                   inst(Opcode::BARRIER)}),
            "core 1: deadlock: at a barrier to which a core that has halted "
            "does not come");
}

TEST_F(ProgramCheckTest, SignalToACoreThatHasHalted) {
  options.numCores = 2;
  // Core 0 halts; core 1 signals it.
  EXPECT_EQ(check({inst(Opcode::COREID, {0}), inst(Opcode::BEQ, {0, 1, 2}),
                   inst(Opcode::SIGNALCORE, {mx, 1, 0, 1})}),
            "core 1: core 0 is signalled after its halt");
}

TEST_F(ProgramCheckTest, MulticastSignalsEveryCoreOfItsRectangle) {
  // Core 0 loads for all of 2 x 2 cores; each waits for its signal.
  std::vector<Instruction> program{inst(Opcode::TDLOAD, {0, 0}),
                                   inst(Opcode::TDLOAD, {1, 1}),
                                   inst(Opcode::LDARG, {0, 0}),
                                   inst(Opcode::TDADD, {1, 1, 0}),
                                   inst(Opcode::LI, {1, 2 << 16 | 2 << 24}),
                                   inst(Opcode::COREID, {2}),
                                   inst(Opcode::BNE, {2, 3, 2}),
                                   inst(Opcode::LOADMULTICAST, {0, 1, 1, 4, 1}),
                                   inst(Opcode::WAIT, {vx}, {{4, 1}})};
  std::vector<isa::Descriptor> descriptors{descriptor(isa::Space::Spm, 16),
                                           descriptor(isa::Space::Global, 16)};
  options.numCores = 4;
  options.columns = 2;
  EXPECT_EQ(check(program, descriptors), "");
  program[4] = inst(Opcode::LI, {1, 2 << 16 | 1 << 24});
  EXPECT_THAT(check(program, descriptors),
              HasSubstr("core 2: deadlock: waits for s4 >= 1"));
  program[4] = inst(Opcode::LI, {1, 3 << 16 | 1 << 24});
  EXPECT_THAT(check(program, descriptors),
              HasSubstr("is not within the dispatch's 2 x 2 cores"));
}

TEST_F(ProgramCheckTest, StoresToOtherCores) {
  auto program = [](int64_t core, int64_t offset) {
    return std::vector<Instruction>{inst(Opcode::COREID, {0}),
                                    inst(Opcode::TDLOAD, {0, 0}),
                                    inst(Opcode::TDLOAD, {1, 1}),
                                    inst(Opcode::LI, {1, core << 32 | offset}),
                                    inst(Opcode::TDADD, {0, 0, 1}),
                                    inst(Opcode::BNE, {0, 2, 2}), // core 0's
                                    inst(Opcode::STORE, {0, 1})};
  };
  std::vector<isa::Descriptor> descriptors{descriptor(isa::Space::Core, 16),
                                           descriptor(isa::Space::Spm, 16)};
  options.numCores = 2;
  EXPECT_EQ(check(program(1, 960), descriptors), "");
  EXPECT_EQ(check(program(1, 964), descriptors),
            "core 0: t0 reaches bytes 964 to 1027 of core 1's SPM, which has "
            "1024");
  EXPECT_EQ(check(program(2, 0), descriptors),
            "core 0: t0 names core 2 of a dispatch of 2");
}

TEST_F(ProgramCheckTest, ExtentsFromArguments) {
  // A descriptor that fits at its constant's extent fits at every length.
  std::vector<Instruction> program{
      inst(Opcode::TDLOAD, {0, 0}), inst(Opcode::LDARG, {1, 0}),
      inst(Opcode::TDEXTENT, {0, 0, 1, 0}), inst(Opcode::FILL, {0, 0})};
  EXPECT_EQ(check(program, {descriptor(isa::Space::Spm, 256)}), "");
  EXPECT_EQ(check(program, {descriptor(isa::Space::Spm, 257)}),
            "t0 reaches bytes 0 to 1027 of SPM, which has 1024");
  program[1] = inst(Opcode::LI, {1, 300});
  EXPECT_EQ(check(program, {descriptor(isa::Space::Spm, 256)}),
            "sets extent 0 to 300; accepted: 1 to 256");
  program[1] = inst(Opcode::LI, {1, 1});
  EXPECT_EQ(check(program, {descriptor(isa::Space::Spm, 257)}), "");
  program[2] = inst(Opcode::TDEXTENT, {0, 0, 1, 1});
  EXPECT_EQ(check(program, {descriptor(isa::Space::Spm, 256)}),
            "dimension 1 of a descriptor of rank 1");
}

TEST_F(ProgramCheckTest, StridesFromRegisters) {
  std::vector<Instruction> program{
      inst(Opcode::TDLOAD, {0, 0}), inst(Opcode::LI, {1, 8}),
      inst(Opcode::TDSTRIDE, {0, 0, 1, 0}), inst(Opcode::FILL, {0, 0})};
  // 32 elements at a distance of 8: the last at byte 31 * 32.
  EXPECT_EQ(check(program, {descriptor(isa::Space::Spm, 32)}), "");
  EXPECT_EQ(check(program, {descriptor(isa::Space::Spm, 33)}),
            "t0 reaches bytes 0 to 1027 of SPM, which has 1024");
  program[1] = inst(Opcode::LDARG, {1, 0}); // not known
  EXPECT_EQ(check(program, {descriptor(isa::Space::Spm, 33)}), "");
}

TEST_F(ProgramCheckTest, WindowsTouchOnlyWhatIsInside) {
  // 16 elements from 4 before the start of the argument's 1024.
  std::vector<Instruction> program{inst(Opcode::TDLOAD, {0, 0}),
                                   inst(Opcode::TDLOAD, {1, 1}),
                                   inst(Opcode::LDARG, {0, 0}),
                                   inst(Opcode::TDADD, {0, 0, 0}),
                                   inst(Opcode::LI, {1, -4}),
                                   inst(Opcode::LI, {2, 1024}),
                                   inst(Opcode::TDWINDOW, {0, 0, 1, 2, 0, 1}),
                                   inst(Opcode::LOAD, {1, 0, 1, 0, 0})};
  std::vector<isa::Descriptor> descriptors{descriptor(isa::Space::Global, 16),
                                           descriptor(isa::Space::Spm, 16)};
  EXPECT_EQ(check(program, descriptors), "");
  program.back() = inst(Opcode::LOAD, {1, 0, 0, 0, 0});
  EXPECT_EQ(check(program, descriptors), "t0 has elements outside its window");
  program.back() = inst(Opcode::LOAD, {1, 0, 1, 0, 0});
  program[5] = inst(Opcode::LI, {2, 5000}); // the argument is smaller
  program[4] = inst(Opcode::LI, {1, 1010});
  EXPECT_EQ(check(program, descriptors),
            "t0 reaches bytes 4040 to 4103 of argument 0, which has 4096");
  program[6] = inst(Opcode::TDWINDOW, {0, 0, 1, 2, 0, 0});
  EXPECT_EQ(check(program, descriptors),
            "a window with the step 0 over the stride 1 of f32 elements");
}

TEST_F(ProgramCheckTest, GatherChecksTableAndIndices) {
  std::vector<Instruction> program{
      inst(Opcode::TDLOAD, {0, 0}),   inst(Opcode::TDLOAD, {1, 1}),
      inst(Opcode::TDLOAD, {2, 2}),   inst(Opcode::LDARG, {0, 0}),
      inst(Opcode::TDADD, {1, 1, 0}), inst(Opcode::LOADGATHER, {0, 1, 2})};
  std::vector<isa::Descriptor> descriptors{
      descriptor(isa::Space::Spm, 4), descriptor(isa::Space::Global, 1024),
      descriptor(isa::Space::Spm, 4, 1008)};
  EXPECT_EQ(check(program, descriptors), "");
  descriptors[1].extents[0] = 1025;
  EXPECT_EQ(check(program, descriptors),
            "t1 reaches bytes 0 to 4099 of argument 0, which has 4096");
  descriptors[1].extents[0] = 4;
  descriptors[2].base = 1012;
  EXPECT_EQ(check(program, descriptors),
            "t2 reaches bytes 1012 to 1027 of SPM, which has 1024");
}

TEST_F(ProgramCheckTest, DivisionByZero) {
  EXPECT_EQ(check({inst(Opcode::LI, {0, 7}), inst(Opcode::DIVU, {0, 0, 1})}),
            "division by zero");
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

namespace {
const int64_t seq = int64_t(Queue::Seq), st = int64_t(Queue::St);

std::vector<Instruction> operator+(std::vector<Instruction> a,
                                   const std::vector<Instruction> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
} // namespace

TEST_F(ProgramCheckTest, QueuesThatNothingOrdersRace) {
  auto program = [&](std::vector<isa::SemaphoreStep> signals,
                     std::vector<isa::SemaphoreStep> waits) {
    return std::vector<Instruction>{inst(Opcode::TDLOAD, {0, 0}),
                                    inst(Opcode::TDLOAD, {1, 1}),
                                    inst(Opcode::LDARG, {0, 0}),
                                    inst(Opcode::TDADD, {1, 1, 0}),
                                    inst(Opcode::LOAD, {0, 1}, {}, signals),
                                    inst(Opcode::STORE, {1, 0}, waits)};
  };
  std::vector<isa::Descriptor> descriptors{descriptor(isa::Space::Spm, 16, 64),
                                           descriptor(isa::Space::Global, 16)};
  EXPECT_EQ(check(program({{0, 1}}, {{0, 1}}), descriptors), "");
  EXPECT_EQ(check(program({}, {}), descriptors),
            "race: reads bytes 64 to 127 of core 0's SPM, which instruction 4 "
            "of core 0 writes, and nothing orders the two");
  EXPECT_EQ(result.instruction, 5u);
}

TEST_F(ProgramCheckTest, InterleavedColumnsDoNotTouch) {
  // Every second element each.
  isa::Descriptor even = descriptor(isa::Space::Spm, 8);
  even.strides[0] = 2;
  isa::Descriptor odd = even;
  odd.base = 4;
  std::vector<isa::Descriptor> descriptors{even, odd,
                                           descriptor(isa::Space::Global, 8)};
  std::vector<Instruction> program{
      inst(Opcode::TDLOAD, {0, 0}),   inst(Opcode::TDLOAD, {1, 1}),
      inst(Opcode::TDLOAD, {2, 2}),   inst(Opcode::LDARG, {0, 0}),
      inst(Opcode::TDADD, {2, 2, 0}), inst(Opcode::LOAD, {0, 2}),
      inst(Opcode::STORE, {2, 1})};
  EXPECT_EQ(check(program, descriptors), "");
  program[6] = inst(Opcode::STORE, {2, 0});
  EXPECT_THAT(check(program, descriptors), HasSubstr("race: reads bytes 0"));
}

TEST_F(ProgramCheckTest, BarriersOrderCores) {
  // Core 1 reads what core 0 has stored into its SPM.
  isa::Descriptor remote = descriptor(isa::Space::Core, 16);
  remote.base = uint64_t(1) << 32;
  std::vector<isa::Descriptor> descriptors{
      descriptor(isa::Space::Spm, 16), remote,
      descriptor(isa::Space::Spm, 16, 256), descriptor(isa::Space::Global, 16)};
  auto program = [&](std::vector<Instruction> between) {
    return std::vector<Instruction>{
               inst(Opcode::TDLOAD, {0, 0}), inst(Opcode::TDLOAD, {1, 1}),
               inst(Opcode::TDLOAD, {2, 2}), inst(Opcode::TDLOAD, {3, 3}),
               inst(Opcode::LDARG, {0, 0}),  inst(Opcode::TDADD, {3, 3, 0}),
               inst(Opcode::COREID, {1}),    inst(Opcode::BNE, {1, 2, 2}),
               inst(Opcode::STORE, {1, 2})} +
           between +
           std::vector<Instruction>{inst(Opcode::BEQ, {1, 2, 2}),
                                    inst(Opcode::STORE, {3, 0})};
  };
  options.numCores = 2;
  EXPECT_EQ(
      check(program({inst(Opcode::FENCE), inst(Opcode::BARRIER)}), descriptors),
      "");
  // A barrier orders sequencers, not what their queues still do.
  EXPECT_THAT(check(program({inst(Opcode::BARRIER)}), descriptors),
              HasSubstr("core 1: race: reads bytes 0 to 63 of core 1's SPM"));
}

TEST_F(ProgramCheckTest, UnitsOfOneCoreAreNotThoseOfAnother) {
  // Core 0 loads for cores 1 and 2 into two slots in turn, which they give back
  // by signals. If both slots share a semaphore, the two units that a load
  // waits for may both be core 1's, and core 2 still reads.
  std::vector<isa::Descriptor> descriptors{descriptor(isa::Space::Spm, 16),
                                           descriptor(isa::Space::Spm, 16, 64),
                                           descriptor(isa::Space::Global, 16)};
  auto program = [&](uint8_t first, uint8_t second) {
    auto read = [&](int64_t td, int64_t free) {
      return std::vector<Instruction>{
          inst(Opcode::WAIT, {st}, {{5, 1}}), inst(Opcode::STORE, {2, td}),
          inst(Opcode::SIGNALCORE, {st, 3, free, 1})};
    };
    std::vector<Instruction> readers =
        std::vector<Instruction>{inst(Opcode::SIGNALCORE, {seq, 3, first, 1}),
                                 inst(Opcode::SIGNALCORE, {seq, 3, second, 1}),
                                 inst(Opcode::LOOP, {4, 4, 6})} +
        read(0, first) + read(1, second) +
        std::vector<Instruction>{inst(Opcode::JUMP, {6})};
    return std::vector<Instruction>{
               inst(Opcode::TDLOAD, {0, 0}),
               inst(Opcode::TDLOAD, {1, 1}),
               inst(Opcode::TDLOAD, {2, 2}),
               inst(Opcode::LDARG, {0, 0}),
               inst(Opcode::TDADD, {2, 2, 0}),
               inst(Opcode::LI, {1, 1 | 2 << 16 | 1 << 24}),
               inst(Opcode::COREID, {2}),
               inst(Opcode::BEQ, {2, 3, int64_t(readers.size()) + 1})} +
           readers +
           std::vector<Instruction>{
               inst(Opcode::LOOP, {4, 4, 2}),
               inst(Opcode::LOADMULTICAST, {0, 2, 1, 5, 1}, {{first, 2}}),
               inst(Opcode::LOADMULTICAST, {1, 2, 1, 5, 1}, {{second, 2}}),
               inst(Opcode::WAIT, {int64_t(Queue::Ld)}, {{first, 2}}),
               inst(Opcode::WAIT, {int64_t(Queue::Ld)}, {{second, 2}})};
  };
  options.numCores = options.columns = 3;
  EXPECT_EQ(check(program(0, 1), descriptors), "");
  EXPECT_THAT(check(program(0, 0), descriptors),
              HasSubstr("core 0: race: writes bytes"));
}
