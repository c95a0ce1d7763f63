//===- BottleneckTest.cpp - Tests of what limits a run --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Bottleneck.h"
#include "RunReportFixture.h"
#include <gmock/gmock.h>

using namespace tessera;
using namespace tessera::report;

namespace {
DispatchReport dispatch(uint64_t cycles, uint64_t bound, uint64_t memory) {
  DispatchReport report;
  report.name = "kernel";
  report.cycles = report.kernelCycles = cycles;
  report.boundCycles = bound;
  report.memoryCycles = memory;
  report.limiter = memory > bound ? Limiter::Dram : Limiter::Matrix;
  return report;
}
} // namespace

TEST(Bottleneck, LimitedFromHalfOfTheTimeOn) {
  EXPECT_EQ(judge(dispatch(100, 50, 20)).limiter, Limiter::Matrix);
  EXPECT_EQ(judge(dispatch(100, 20, 50)).limiter, Limiter::Dram);
  EXPECT_EQ(judge(dispatch(100, 49, 49)).limiter, Limiter::None);
}

TEST(Bottleneck, WaitsForTheLargestCauseOfTheWorkingEngines) {
  using enum sim::StallCause;
  DispatchReport waiting = dispatch(100, 10, 10);
  EXPECT_EQ(judge(waiting).cause, QueueEmpty);
  auto charge = [&](sim::Engine engine, sim::StallCause cause, uint64_t n) {
    waiting.engines[size_t(engine)].byCause[size_t(cause)] = n;
  };
  charge(sim::Engine::Sequencer, WaitMatrix, 90);
  charge(sim::Engine::Store, WaitVector, 90);
  charge(sim::Engine::Vector, QueueEmpty, 80);
  charge(sim::Engine::Matrix, WaitLoad, 30);
  charge(sim::Engine::Vector, WaitLoad, 30);
  charge(sim::Engine::Load, Dram, 50);
  // Most wait for the load engine, and that for the DRAM.
  EXPECT_EQ(judge(waiting),
            (DispatchVerdict{Limiter::None, Dram, sim::Engine::Load, false}));
}

TEST(Bottleneck, WaitsAreFollowedFromEngineToEngine) {
  using enum sim::StallCause;
  DispatchReport waiting = dispatch(100, 10, 10);
  auto charge = [&](sim::Engine engine, sim::StallCause cause, uint64_t n) {
    waiting.engines[size_t(engine)].byCause[size_t(cause)] = n;
  };
  charge(sim::Engine::Load, WaitVector, 90);
  charge(sim::Engine::Vector, WaitMatrix, 80);
  charge(sim::Engine::Vector, Busy, 10);
  charge(sim::Engine::Matrix, Busy, 30);
  charge(sim::Engine::Matrix, BankConflict, 60);
  EXPECT_EQ(judge(waiting), (DispatchVerdict{Limiter::None, BankConflict,
                                             sim::Engine::Matrix, false}));
  charge(sim::Engine::Matrix, BankConflict, 20);
  EXPECT_EQ(judge(waiting),
            (DispatchVerdict{Limiter::None, Busy, sim::Engine::Matrix, false}));
  // Engines that wait for each other: no end but the way's.
  charge(sim::Engine::Matrix, WaitLoad, 70);
  EXPECT_TRUE(judge(waiting).engine);
  waiting.kernelCycles = 49;
  EXPECT_TRUE(judge(waiting).outsideKernel);
}

TEST_F(RunReportTest, ExplanationNamesTheEngineAtTheEnd) {
  using enum sim::StallCause;
  for (sim::DispatchRecord &record : statistics.dispatches) {
    record.endCycle = record.haltCycle = record.startCycle + 60000;
    auto &engines = record.engines;
    engines[size_t(sim::Engine::Vector)].byCause[size_t(WaitMatrix)] = 50000;
    engines[size_t(sim::Engine::Matrix)].byCause[size_t(BankConflict)] = 40000;
  }
  EXPECT_THAT(report().explanation.front(),
              testing::HasSubstr("waiting for the matrix engines, which wait "
                                 "for memory banks for "));
}

TEST_F(RunReportTest, ExplanationOfARun) {
  // 10,000 cycles for the product, 6,000 for the softmax's 200,000 bytes.
  EXPECT_THAT(
      report().explanation,
      testing::ElementsAre(
          "The run is limited by the matrix engines for 62 %, limited by DRAM "
          "bandwidth for 38 % of its time.",
          "fc, bias loses most: 10000 cycles where its work needs 8192, "
          "limited by the matrix engines.",
          "tessera whatif --scale matrix=2 measures what twice the speed there "
          "would bring."));
}

TEST_F(RunReportTest, ExplanationOfTimeBetweenDispatches) {
  for (sim::DispatchRecord &record : statistics.dispatches)
    record.endCycle = record.startCycle + 100;
  EXPECT_EQ(report().explanation.front().find(
                "The run is between dispatches for 98 %"),
            0u);
}
