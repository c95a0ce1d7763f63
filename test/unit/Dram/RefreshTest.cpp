//===- RefreshTest.cpp - Refreshes of a DRAM channel ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelFixture.h"

namespace tessera::sim::dram::test {

using Clocks = std::vector<Cycle>;
using K = CommandKind;

static DramConfig with(DramConfig dram, RefreshMode mode) {
  dram.refresh = mode;
  return dram;
}

TEST(DramRefresh, AllBanksAfterPrechargeAll) {
  Bench b(with(ddr4(), RefreshMode::AllBank));
  b.read(12400, {});
  b.read(12480, {.group = 1}, 7);
  b.finish();
  EXPECT_EQ(b.clocksOf(K::PrechargeAll), Clocks{12480});
  EXPECT_EQ(b.clocksOf(K::Refresh), Clocks{12480 + 22});
  EXPECT_EQ(b.clocksOf(K::Activate)[1], 12502u + 576);
  EXPECT_EQ(b.completionOf(7), 13078u + 22 + 22 + 4);
  EXPECT_EQ(b.channel.counters().refreshClocks, 576u);
}

TEST(DramRefresh, ClosedBanksRefreshAtOnce) {
  Bench b(with(ddr4(), RefreshMode::AllBank));
  b.read(12480, {}, 7);
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Refresh), Clocks{12480});
  EXPECT_EQ(b.completionOf(7), 12480u + 576 + 22 + 22 + 4);
}

TEST(DramRefresh, OpenedRowIsUsedFirst) {
  Bench b(with(ddr4(), RefreshMode::AllBank));
  b.read(12470, {}); // Its read is due at 12492.
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Read), Clocks{12492});
  b.runTo(14000);
  // tRAS after the activate.
  EXPECT_EQ(b.clocksOf(K::PrechargeAll), Clocks{12470 + 52});
}

TEST(DramRefresh, PseudoChannelsOneAfterTheOther) {
  Bench b(with(hbm2(), RefreshMode::AllBank));
  b.read(4600, {.pseudo = 0});
  b.read(4600, {.pseudo = 1});
  b.runTo(6000);
  EXPECT_EQ(b.clocksOf(K::PrechargeAll), (Clocks{4682, 4682 + 17 + 1}));
  EXPECT_EQ(b.clocksOf(K::Refresh), (Clocks{4699, 4717}));
}

TEST(DramRefresh, IdleTimeIsMadeUpFor) {
  for (RefreshMode mode : {RefreshMode::AllBank, RefreshMode::PerBank}) {
    DramConfig dram = with(hbm2(), mode);
    Bench skips(dram), walks(dram);
    Cycle later = 4682 * 50 + 100;
    for (Bench *b : {&skips, &walks})
      b->read(10, {.row = 3});
    skips.finish();
    for (Cycle now = 0; now != later; ++now)
      walks.channel.step(now, walks.done);
    for (Bench *b : {&skips, &walks}) {
      b->read(later, {.row = 3}, 7);
      b->finish();
    }
    EXPECT_EQ(skips.completionOf(7), walks.completionOf(7));
    EXPECT_EQ(skips.channel.counters().refreshes,
              walks.channel.counters().refreshes);
    EXPECT_EQ(skips.channel.counters().refreshClocks,
              walks.channel.counters().refreshClocks);
    EXPECT_LT(skips.commands.size(), walks.commands.size());
  }
}

TEST(DramRefresh, SingleBanksLeaveTheOthersAlone) {
  Bench b(with(ddr4(), RefreshMode::PerBank));
  // A bank every 12480 / 16 = 780 clocks, bank 0 first.
  b.read(780, {.bank = 0}, 1);
  b.read(780, {.group = 1}, 2);
  b.finish();
  EXPECT_EQ(b.clocksOf(K::RefreshBank)[0], 780u);
  // tRRD_S after the refresh.
  EXPECT_EQ(b.completionOf(2), 784u + 22 + 22 + 4);
  EXPECT_EQ(b.completionOf(1), 780u + 200 + 22 + 22 + 4);
}

TEST(DramRefresh, SingleBankIsClosedFirst) {
  Bench b(with(ddr4(), RefreshMode::PerBank));
  b.read(600, {.bank = 0});
  b.read(790, {.bank = 0, .column = 1}, 7);
  b.finish();
  EXPECT_EQ(b.clocksOf(K::Precharge), Clocks{780});
  EXPECT_EQ(b.clocksOf(K::RefreshBank), Clocks{780 + 22});
  EXPECT_EQ(b.completionOf(7), 802u + 200 + 22 + 22 + 4);
}

TEST(DramRefresh, NoneIfToldSo) {
  Bench b(ddr4());
  b.read(1'000'000, {}, 7);
  b.finish();
  EXPECT_EQ(b.channel.counters().refreshes, 0u);
  EXPECT_EQ(b.completionOf(7), 1'000'048u);
}

} // namespace tessera::sim::dram::test
