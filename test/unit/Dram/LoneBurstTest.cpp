//===- LoneBurstTest.cpp - Bursts that meet nothing -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel that takes bursts alone, where it can, against one that gets them
// by the queue: the same commands in the same clocks, and the same books.
//
//===----------------------------------------------------------------------===//

#include "ChannelFixture.h"
#include <map>
#include <random>

namespace tessera::sim::dram::test {

namespace {

/// A burst as an address mapping makes it: runs of neighbours over banks.
std::vector<Access> randomBurst(const Channel &channel, const DramConfig &dram,
                                std::mt19937_64 &random, uint64_t token) {
  std::vector<Access> runs(1 + random() % 8);
  bool write = random() % 4 == 0;
  for (Access &run : runs) {
    DramCoordinates c;
    c.pseudoChannel = uint32_t(random()) % dram.pseudoChannels;
    c.bankGroup = uint32_t(random()) % dram.bankGroups;
    c.bank = uint32_t(random()) % 2 % dram.banksPerGroup;
    run = {write, channel.bankOf(c), random() % 64 == 0,
           uint32_t(random()) % 16, token};
    run.atoms = 1 + uint32_t(random()) % 2;
  }
  return runs;
}

struct Side : Bench {
  using Bench::Bench;
  Cycle open = 0;
  unsigned alone = 0;

  void goTo(Cycle now) {
    if (now != 0)
      open = channel.goThrough(open, now - 1, done);
    channel.advance(now, done);
  }
  void take(const std::vector<Access> &runs, Cycle now, bool mayBeAlone) {
    if (mayBeAlone && channel.offerAlone(runs, now)) {
      ++alone;
      return;
    }
    for (const Access &run : runs)
      ASSERT_EQ(channel.offer(run, now, done), run.atoms);
  }
};

void compare(const DramConfig &dram, unsigned gap) {
  Side alone(dram), queued(dram);
  std::mt19937_64 random(5);
  Cycle now = 0;
  for (uint64_t token = 0; token != 3000; ++token) {
    now += random() % gap;
    std::vector<Access> runs = randomBurst(alone.channel, dram, random, token);
    for (Side *side : {&alone, &queued}) {
      side->goTo(now);
      side->take(runs, now, side == &alone);
    }
    ASSERT_EQ(alone.channel.waiting(), queued.channel.waiting());
  }
  for (Side *side : {&alone, &queued})
    side->goTo(now + 10'000);
  EXPECT_EQ(alone.commands, queued.commands);
  auto byToken = [](std::vector<Completion> done) {
    std::map<uint64_t, std::pair<uint32_t, Cycle>> result;
    for (const Completion &c : done) {
      auto &[atoms, clock] = result[c.token];
      atoms += c.atoms;
      clock = std::max(clock, c.clock);
    }
    return result;
  };
  EXPECT_EQ(byToken(alone.done), byToken(queued.done));
  auto bytes = [](const ChannelCounters &counters) {
    ByteWriter out;
    Saver saver(out);
    ChannelCounters copy = counters;
    serialize(saver, copy);
    return out.take();
  };
  EXPECT_EQ(bytes(alone.channel.counters()), bytes(queued.channel.counters()));
  for (uint32_t bank = 0; bank != alone.channel.bankCount(); ++bank)
    EXPECT_EQ(alone.channel.bankCounters(bank).accesses,
              queued.channel.bankCounters(bank).accesses);
  if (gap > 60) {
    EXPECT_GT(alone.alone, 500u);
  }
}

} // namespace

TEST(DramLoneBursts, AreIssuedAsFromTheQueue) {
  for (DramConfig dram : {ddr4(), hbm2(), lpddr5()})
    for (RefreshMode refresh :
         {RefreshMode::None, RefreshMode::AllBank, RefreshMode::PerBank})
      for (unsigned gap : {12u, 40u, 100u, 300u}) {
        dram.refresh = refresh;
        dram.writeQueue = dram.readQueue = 4096; // room for all
        SCOPED_TRACE(testing::Message()
                     << dram.pseudoChannels << " pseudo-channels, " << dram.tCL
                     << ", refresh " << int(refresh) << ", gap " << gap);
        compare(dram, gap);
      }
}

// Saved while a burst is kept, the rest is the same.
TEST(DramLoneBursts, ContinueFromASnapshot) {
  Side whole(hbm2()), rest(hbm2());
  Access first{false, 0, 0, 0, 1};
  whole.take({first}, 0, true);
  whole.goTo(200);
  Access second{false, 0, 0, 4, 2};
  second.atoms = 4;
  whole.take({second}, 200, true);
  ASSERT_EQ(whole.alone, 1u);
  ASSERT_FALSE(whole.channel.idle());
  ByteWriter out;
  Saver saver(out);
  serialize(saver, whole.channel);
  std::vector<uint8_t> bytes = out.take();
  ByteReader in{std::span<const uint8_t>(bytes)};
  Loader loader(in);
  serialize(loader, rest.channel);
  ASSERT_TRUE(loader.ok());
  whole.done.clear();
  whole.goTo(400), rest.goTo(400);
  ASSERT_EQ(whole.done.size(), 1u);
  ASSERT_EQ(rest.done.size(), 1u);
  EXPECT_EQ(whole.done[0].clock, rest.done[0].clock);
  // A column every tCCD_L from 200 on.
  Timings t(hbm2());
  EXPECT_EQ(whole.done[0].clock, 200u + 3 * t.columnGroup + t.readLatency);
}

} // namespace tessera::sim::dram::test
