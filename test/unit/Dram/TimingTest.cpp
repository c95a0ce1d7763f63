//===- TimingTest.cpp - Exact clocks of each DRAM timing rule ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelFixture.h"

namespace tessera::sim::dram::test {

using Clocks = std::vector<Cycle>;
using K = CommandKind;

TEST(DramTiming, ClosedBankCostsRcdClBurst) {
  Bench b(ddr4());
  b.read(0, {}, 7);
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Activate), Clocks{0});
  EXPECT_EQ(b.clocksOf(K::Read), Clocks{22});
  EXPECT_EQ(b.completionOf(7), 22u + 22 + 4);
}

TEST(DramTiming, OpenRowCostsClBurst) {
  Bench b(ddr4());
  b.read(0, {.column = 0});
  b.read(1000, {.column = 9}, 7);
  b.finish();
  EXPECT_EQ(b.completionOf(7), 1000u + 22 + 4);
}

TEST(DramTiming, ConflictCostsRpRcdClBurst) {
  Bench b(ddr4());
  b.read(0, {.row = 1});
  b.read(1000, {.row = 2}, 7);
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Precharge), Clocks{1000});
  EXPECT_EQ(b.clocksOf(K::Activate), (Clocks{0, 1022}));
  EXPECT_EQ(b.completionOf(7), 1000u + 22 + 22 + 22 + 4);
}

TEST(DramTiming, RowStaysOpenForRas) {
  Bench b(ddr4());
  b.read(0, {.row = 1});
  b.read(0, {.row = 2});
  b.finish();
  // Read 22 + tRTP 12 = 34 < tRAS 52; 52 + tRP 22 = 74 = tRC.
  EXPECT_EQ(b.clocksOf(K::Precharge), Clocks{52});
  EXPECT_EQ(b.clocksOf(K::Activate), (Clocks{0, 74}));
}

TEST(DramTiming, ActivatesOfABankAreRcApart) {
  DramConfig dram = ddr4();
  dram.tRC = 90;
  Bench b(dram);
  b.read(0, {.row = 1});
  b.read(0, {.row = 2});
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Activate), (Clocks{0, 90}));
}

TEST(DramTiming, ReadToPrecharge) {
  Bench b(ddr4());
  b.read(0, {.row = 1});
  b.read(100, {.row = 1, .column = 1});
  b.read(100, {.row = 2});
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Read), (Clocks{22, 100, 156}));
  EXPECT_EQ(b.clocksOf(K::Precharge), Clocks{100 + 12});
}

TEST(DramTiming, WriteRecovery) {
  Bench b(ddr4());
  b.write(0, {.row = 1});
  b.write(0, {.row = 2});
  b.finish();
  // Write 22, data 38..42, tWR 24.
  EXPECT_EQ(b.clocksOf(K::Precharge), Clocks{22 + 16 + 4 + 24});
}

TEST(DramTiming, ColumnsAcrossAndWithinGroups) {
  for (auto [group, distance] : {std::pair(0u, 8u), std::pair(1u, 4u)}) {
    Bench b(ddr4());
    b.read(0, {.group = 0});
    b.read(0, {.group = group, .bank = 1});
    b.runTo(200); // Both rows are open.
    b.read(200, {.group = 0, .column = 1});
    b.read(200, {.group = group, .bank = 1, .column = 1});
    b.finish();
    Clocks reads = b.clocksOf(K::Read);
    EXPECT_EQ(reads[2], 200u);
    EXPECT_EQ(reads[3], 200u + distance);
  }
}

TEST(DramTiming, WritesAcrossAndWithinGroups) {
  for (auto [group, distance] : {std::pair(0u, 8u), std::pair(1u, 4u)}) {
    Bench b(ddr4());
    b.write(0, {.group = 0});
    b.write(0, {.group = group, .bank = 1});
    b.runTo(200);
    b.write(200, {.group = 0, .column = 1});
    b.write(200, {.group = group, .bank = 1, .column = 1});
    b.finish();
    Clocks writes = b.clocksOf(K::Write);
    EXPECT_EQ(writes[3] - writes[2], distance);
  }
}

TEST(DramTiming, ActivatesAcrossAndWithinGroups) {
  for (auto [group, distance] : {std::pair(0u, 8u), std::pair(1u, 4u)}) {
    Bench b(ddr4());
    b.read(0, {.group = 0, .bank = 0});
    b.read(0, {.group = group, .bank = 1});
    b.finish();
    EXPECT_EQ(b.clocksOf(K::Activate), (Clocks{0, distance}));
  }
}

TEST(DramTiming, FourActivateWindow) {
  DramConfig dram = ddr4();
  dram.tFAW = 36; // Reads have the bus at 22, 26, 30 and 34.
  Bench b(dram);
  for (uint32_t group = 0; group != 4; ++group)
    b.read(0, {.group = group});
  b.read(0, {.group = 0, .bank = 1});
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Activate), (Clocks{0, 4, 8, 12, 36}));
}

TEST(DramTiming, ReadToWrite) {
  Bench b(ddr4());
  b.read(0, {});
  b.write(23, {.column = 1});
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Write), Clocks{22 + 12});
}

TEST(DramTiming, WriteToReadWithinAndAcrossGroups) {
  Bench same(ddr4());
  same.write(0, {});
  same.read(23, {.column = 1});
  same.finish();
  EXPECT_EQ(same.clocksOf(K::Read), Clocks{22 + 16 + 4 + 12});

  Bench other(ddr4());
  other.write(0, {});
  other.read(23, {.group = 1}); // Activate 23, tRCD until 45.
  other.finish();
  EXPECT_EQ(other.clocksOf(K::Read), Clocks{22 + 16 + 4 + 4});
  EXPECT_EQ(other.channel.counters().turnarounds, 1u);
}

TEST(DramTiming, RanksShareTheDataBus) {
  DramConfig dram = ddr4();
  dram.ranks = 2;
  Bench b(dram);
  b.read(0, {.rank = 0});
  b.read(0, {.rank = 1});
  b.finish();
  // Their activates are independent but for the command bus.
  EXPECT_EQ(b.clocksOf(K::Activate), (Clocks{0, 1}));
  // A burst of 4 and one clock of silence.
  EXPECT_EQ(b.clocksOf(K::Read), (Clocks{22, 22 + 5}));
}

TEST(DramTiming, HbmActivateTakesTwoSlots) {
  Bench b(hbm2());
  b.read(0, {.row = 1}, 1);
  b.read(1000, {.row = 2}, 2);
  b.finish();
  // Slots 0 and 1; tRCD 17 from the second.
  EXPECT_EQ(b.clocksOf(K::Read)[0], 1u + 17);
  EXPECT_EQ(b.completionOf(1), 1u + 17 + 17 + 2);
  // On a conflict the first slot lies within tRP.
  EXPECT_EQ(b.clocksOf(K::Activate)[1], 1000u + 17 - 1);
  EXPECT_EQ(b.completionOf(2), 1000u + 17 + 17 + 17 + 2);
}

TEST(DramTiming, HbmPseudoChannelsShareTheRowBus) {
  Bench b(hbm2());
  b.read(0, {.pseudo = 0});
  b.read(0, {.pseudo = 1});
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Activate), (Clocks{0, 2}));
  // The data buses are their own: no tCCD between them.
  EXPECT_EQ(b.clocksOf(K::Read), (Clocks{18, 20}));
}

TEST(DramTiming, HbmRowAndColumnCommandsInOneClock) {
  Bench b(hbm2());
  b.read(0, {});
  b.runTo(18);
  b.read(18, {.group = 1});
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Read)[0], 18u);
  EXPECT_EQ(b.clocksOf(K::Activate)[1], 18u);
}

TEST(DramTiming, HbmWriteUsesItsOwnRcd) {
  Bench b(hbm2());
  b.write(0, {});
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Write), Clocks{1 + 14});
}

} // namespace tessera::sim::dram::test
