//===- CommandRulesTest.cpp - No command too early, ever --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random traffic on many configurations; every pair of commands is held
// against the rules, written a second time in the fixture.
//
//===----------------------------------------------------------------------===//

#include "ChannelFixture.h"
#include <fmt/format.h>
#include <random>

namespace tessera::sim::dram::test {

struct Case {
  std::string name;
  DramConfig dram;
};

static std::vector<Case> cases() {
  std::vector<Case> result;
  for (auto [name, base] :
       {std::pair("ddr4", ddr4()), std::pair("hbm2", hbm2()),
        std::pair("lpddr5", lpddr5())})
    for (RefreshMode refresh :
         {RefreshMode::None, RefreshMode::AllBank, RefreshMode::PerBank})
      for (PagePolicy page : {PagePolicy::Open, PagePolicy::Closed})
        for (uint32_t ranks : {1u, 2u}) {
          DramConfig dram = base;
          dram.refresh = refresh, dram.pagePolicy = page, dram.ranks = ranks;
          result.push_back({fmt::format("{}, refresh {}, page {}, ranks {}",
                                        name, int(refresh), int(page), ranks),
                            dram});
        }
  return result;
}

/// Offers `count` random requests as fast as they are taken, in bursts.
static void drive(Bench &b, const DramConfig &dram, unsigned count,
                  uint64_t seed, bool everyClock) {
  std::mt19937_64 random(seed);
  Cycle now = 0;
  for (unsigned i = 0; i != count;) {
    uint64_t r = random();
    At at{uint32_t(r % dram.pseudoChannels),
          uint32_t(r >> 8) % dram.ranks,
          uint32_t(r >> 16) % dram.bankGroups,
          uint32_t(r >> 24) % dram.banksPerGroup,
          uint32_t(r >> 32) % 3,
          uint32_t(r >> 40) % 16};
    bool write = r >> 60 < 6;
    while (!b.offer(now, write, at, i)) {
      if (everyClock)
        b.channel.step(now, b.done);
      else if (b.channel.nextStep() <= now)
        b.channel.step(now, b.done);
      ++now;
    }
    ++i;
    // Sometimes nothing for a while.
    Cycle pause = r >> 50 & 1 ? 0 : (r >> 51) % 16 == 0 ? 700 : (r >> 51) % 4;
    for (Cycle end = now + pause; now != end; ++now)
      if (everyClock)
        b.channel.step(now, b.done);
  }
  b.finish();
}

TEST(DramRules, EveryPairOfCommands) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Bench b(c.dram);
    drive(b, c.dram, 4000, 1, false);
    EXPECT_EQ(b.channel.counters().reads +
                  b.channel.counters().readsFromWriteQueue +
                  b.channel.counters().writes,
              4000u);
    EXPECT_EQ(violatedRule(c.dram, b.commands), std::nullopt);
  }
}

/// The oracle itself: moving any one command a clock forward must be noticed
/// most of the time, in a stream that is as dense as it can be.
TEST(DramRules, OracleNotices) {
  DramConfig dram = ddr4();
  Bench b(dram);
  for (uint32_t row = 0; row != 8; ++row)
    b.read(0, {.row = row});
  b.finish();
  unsigned noticed = 0, moved = 0;
  for (size_t i = 1; i != b.commands.size(); ++i, ++moved) {
    std::vector<Command> changed = b.commands;
    --changed[i].clock;
    noticed += violatedRule(dram, changed).has_value();
  }
  EXPECT_EQ(noticed, moved);
}

/// Stepping through every clock changes nothing: no clock that nextStep() skips
/// matters.
TEST(DramRules, SkippedClocksDoNotMatter) {
  for (const Case &c : cases()) {
    SCOPED_TRACE(c.name);
    Bench skips(c.dram), walks(c.dram);
    drive(skips, c.dram, 1500, 2, false);
    drive(walks, c.dram, 1500, 2, true);
    EXPECT_EQ(skips.commands, walks.commands);
  }
}

} // namespace tessera::sim::dram::test
