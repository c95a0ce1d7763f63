//===- SchedulingTest.cpp - Which request a DRAM channel serves -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelFixture.h"

namespace tessera::sim::dram::test {

using Clocks = std::vector<Cycle>;
using K = CommandKind;

TEST(DramScheduling, HitOvertakesOlderConflict) {
  Bench b(ddr4());
  b.read(0, {.row = 1});
  b.read(30, {.row = 2}, 1); // Must wait for tRAS.
  b.read(31, {.row = 1, .column = 1}, 2);
  b.finish();
  EXPECT_EQ(b.completionOf(2), 31u + 22 + 4);
  EXPECT_GT(*b.completionOf(1), *b.completionOf(2));
  EXPECT_EQ(b.channel.counters().rowHits, 1u);
  EXPECT_EQ(b.channel.counters().rowMisses, 1u);
  EXPECT_EQ(b.channel.counters().rowConflicts, 1u);
}

TEST(DramScheduling, RequestsThatShareAnOpenedRowAreHits) {
  Bench b(ddr4());
  for (uint32_t column = 0; column != 4; ++column)
    b.read(0, {.column = column});
  b.finish();
  EXPECT_EQ(b.channel.counters().rowMisses, 1u);
  EXPECT_EQ(b.channel.counters().rowHits, 3u);
  EXPECT_EQ(b.channel.counters().activates, 1u);
  // tCCD_L: one bank is one group.
  EXPECT_EQ(b.clocksOf(K::Read), (Clocks{22, 30, 38, 46}));
}

/// A younger conflict that is ready between two hits: HBM's row stays, DDR's
/// doesn't.
TEST(DramScheduling, HbmKeepsTheRowForOlderHits) {
  auto clocks = [](DramConfig dram) {
    dram.tRTP = 2;
    dram.tCCDL = 8;
    Bench b(dram);
    b.read(0, {.row = 1});
    b.runTo(200);
    for (uint32_t column = 1; column != 3; ++column)
      b.read(200, {.row = 1, .column = column});
    b.read(201, {.row = 2});
    b.finish();
    return b.clocksOf(K::Precharge);
  };
  // Hits at 200 and 208, tRTP 2.
  EXPECT_EQ(clocks(hbm2()), Clocks{210});
  EXPECT_EQ(clocks(ddr4())[0], 202u);
}

TEST(DramScheduling, RowIsUsedByWhoOpenedItBeforeItCloses) {
  Bench b(ddr4());
  b.read(0, {.row = 1}, 1);
  b.read(0, {.row = 2}, 2);
  b.read(0, {.row = 3}, 3);
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Activate).size(), 3u);
  EXPECT_LT(*b.completionOf(1), *b.completionOf(2));
  EXPECT_LT(*b.completionOf(2), *b.completionOf(3));
}

TEST(DramScheduling, WritesWaitForTheDrain) {
  DramConfig dram = ddr4();
  dram.writeQueue = 10, dram.readQueue = 64;
  Bench b(dram);
  // Row hits both; there is always a read waiting.
  b.read(0, {.column = 0});
  uint32_t writes = 0;
  Cycle now = 0;
  for (; writes != 8; ++now) { // Not more than 80 % of 10.
    b.read(now, {.column = 1 + uint32_t(now) % 64});
    b.write(now, {.group = 1, .column = writes++});
  }
  b.runTo(now + 100);
  EXPECT_FALSE(b.channel.idle());
  EXPECT_TRUE(b.clocksOf(K::Write).empty());
  Bench c(dram);
  for (writes = 0, now = 0; writes != 9; ++now) {
    for (uint32_t i = 0; i != 4; ++i)
      c.read(now, {.column = uint32_t(now) * 4 + i});
    c.write(now, {.group = 1, .column = writes++});
  }
  c.runTo(now + 100);
  // From 9 down to below 20 %: 8 writes, the last one waits.
  EXPECT_EQ(c.clocksOf(K::Write).size(), 8u);
  c.finish();
  EXPECT_EQ(c.clocksOf(K::Write).size(), 9u);
}

TEST(DramScheduling, ReadIsServedFromTheWriteQueue) {
  Bench b(ddr4());
  b.read(0, {.group = 2}, 1);
  b.write(0, {.row = 5, .column = 3});
  b.read(1, {.row = 5, .column = 3}, 2);
  b.read(1, {.row = 5, .column = 4}, 3);
  EXPECT_EQ(b.completionOf(2), 2u);
  EXPECT_FALSE(b.completionOf(3));
  b.finish();
  EXPECT_EQ(b.channel.counters().readsFromWriteQueue, 1u);
  EXPECT_EQ(b.channel.counters().reads, 2u);
}

TEST(DramScheduling, FullQueuesRefuse) {
  DramConfig dram = ddr4();
  dram.readQueue = 2, dram.writeQueue = 1;
  Bench b(dram);
  EXPECT_TRUE(b.read(0, {.row = 1}));
  EXPECT_TRUE(b.read(0, {.row = 2}));
  EXPECT_FALSE(b.read(0, {.row = 3}));
  // The first activate frees a place.
  EXPECT_TRUE(b.read(1, {.row = 3}));
  EXPECT_FALSE(b.read(1, {.row = 3}));
  EXPECT_TRUE(b.write(1, {.group = 1}));
  EXPECT_FALSE(b.write(1, {.group = 2}));
  b.finish();
}

TEST(DramScheduling, ClosedPagePrechargesByItself) {
  DramConfig dram = ddr4();
  dram.pagePolicy = PagePolicy::Closed;
  Bench b(dram);
  b.read(0, {.row = 1, .column = 0});
  b.read(0, {.row = 1, .column = 1});
  b.read(1000, {.row = 2}, 7);
  b.finish();
  EXPECT_EQ(b.completionOf(7), 1000u + 22 + 22 + 4);
  EXPECT_TRUE(b.clocksOf(K::Precharge).empty());
  EXPECT_EQ(b.channel.counters().precharges, 2u);
  EXPECT_EQ(b.channel.counters().rowHits, 1u);
  EXPECT_EQ(b.channel.counters().rowMisses, 2u);
}

TEST(DramScheduling, ClosedPageWaitsForRasAndRp) {
  DramConfig dram = ddr4();
  dram.pagePolicy = PagePolicy::Closed;
  Bench b(dram);
  b.read(0, {.row = 1});
  b.read(30, {.row = 2});
  b.finish();
  // Precharged at tRAS 52.
  EXPECT_EQ(b.clocksOf(K::Activate), (Clocks{0, 74}));
}

} // namespace tessera::sim::dram::test
