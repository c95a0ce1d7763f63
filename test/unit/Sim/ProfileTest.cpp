//===- ProfileTest.cpp - Cycles by instruction -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;

static DeviceOptions profiled() {
  DeviceOptions options = Machine::smallHost();
  options.profile = true;
  return options;
}

/// Two iterations: load 8×8 bf16, multiply with it, store.
static Kernel loadMultiplyStore() {
  Kernel k;
  k.td(0, tensor(Space::Spm, NumericFormat::BF16, {8, 8}, 0));
  k.td(1,
       tensor(Space::Global, NumericFormat::BF16, {8, 8}, Machine::dataArea));
  k.td(2, tensor(Space::Acc, NumericFormat::F32, {8, 8}, 0));
  k.td(3, tensor(Space::Global, NumericFormat::F32, {8, 8},
                 Machine::dataArea + 4096));
  k.add(Opcode::LOOP,
        {{isa::loop::rd, 1}, {isa::loop::count, 2}, {isa::loop::length, 4}});
  k.load(0, 1, {}, {{0, 1}});                        // pc 5
  k.mma(2, 0, 0, false, {{0, 1}}, {{1, 1}, {2, 1}}); // pc 6
  k.store(3, 2, {{1, 1}}, {{3, 1}});                 // pc 7
  k.wait(Queue::Seq, {{3, 1}, {2, 1}});              // pc 8
  k.halt();                                          // pc 9
  return k;
}

TEST(Profile, CountsAndCauses) {
  Machine m(tinyArchitecture(), profiled());
  m.run(loadMultiplyStore());
  Statistics s = m.device.statistics();
  ASSERT_EQ(s.kernels.size(), 1u);
  EXPECT_EQ(s.kernels[0].kernel, Machine::kernelArea);
  const auto &at = s.kernels[0].instructions;
  ASSERT_EQ(at.size(), 10u);
  for (uint32_t pc : {0u, 4u, 9u})
    EXPECT_EQ(at[pc].count, 1u);
  for (uint32_t pc : {5u, 6u, 7u, 8u})
    EXPECT_EQ(at[pc].count, 2u);
  using enum StallCause;
  // 128 bytes are two bursts, one a cycle.
  EXPECT_EQ(at[5].execution[Busy], 2 * 2u);
  EXPECT_GT(at[5].execution[Dram], 0u);
  // L = 8 cycles of weights, M = 8 of streaming, R + C - 2 + F = 15 of
  // draining; before that it waits for the load.
  EXPECT_EQ(at[6].execution[WeightLoad], 2 * 8u);
  EXPECT_EQ(at[6].execution[Busy], 2 * 8u);
  EXPECT_EQ(at[6].execution[FillDrain], 2 * 15u);
  EXPECT_GT(at[6].execution[WaitLoad], 0u);
  EXPECT_EQ(at[6].execution[WaitStore], 0u);
  // 256 bytes are four bursts.
  EXPECT_EQ(at[7].execution[Busy], 2 * 4u);
  EXPECT_GT(at[7].execution[WaitMatrix], 0u);
  // The sequencer issues one instruction a cycle and waits at pc 8.
  for (const InstructionStatistics &i : at)
    EXPECT_EQ(i.issue[Busy], i.count);
  EXPECT_GT(at[8].issue[WaitStore], 0u);
  EXPECT_EQ(at[8].execution.total(), 0u);
}

TEST(Profile, AddsUpToTheEngines) {
  Machine m(tinyArchitecture(), profiled());
  m.run(loadMultiplyStore());
  m.run(loadMultiplyStore());
  Statistics s = m.device.statistics();
  EngineCycles issue, execution, sequencer, engines;
  for (const InstructionStatistics &i : s.kernels.at(0).instructions)
    issue += i.issue, execution += i.execution;
  EngineTable totals = s.engineTotals();
  for (size_t e = 1; e < numEngines; ++e)
    engines += totals[e];
  sequencer = totals[0];
  // What belongs to no instruction.
  for (StallCause c : {StallCause::QueueEmpty, StallCause::NoKernel,
                       StallCause::InstructionFetch}) {
    engines.byCause[size_t(c)] = sequencer.byCause[size_t(c)] = 0;
  }
  // The halted sequencer's.
  sequencer.byCause[size_t(StallCause::FillDrain)] = 0;
  EXPECT_EQ(issue, sequencer);
  EXPECT_EQ(execution, engines);
}

TEST(Profile, ChangesNoCycleAndSurvivesSnapshots) {
  Kernel k = loadMultiplyStore();
  Machine plain, m(tinyArchitecture(), profiled()),
      other(tinyArchitecture(), profiled());
  DispatchRecord expected = plain.run(k);
  isa::Packet packet;
  packet.body = m.place(k);
  m.submit(packet);
  for (int i = 0; i < 150; ++i)
    m.device.step();
  ASSERT_TRUE(other.device.restore(m.device.save()).ok());
  m.settle();
  other.settle();
  EXPECT_EQ(m.device.statistics().dispatches.at(0).haltCycle,
            expected.haltCycle);
  EXPECT_EQ(m.device.statistics().kernels.at(0).instructions,
            other.device.statistics().kernels.at(0).instructions);
  EXPECT_TRUE(plain.device.statistics().kernels.empty());
}

} // namespace tessera::sim::test
