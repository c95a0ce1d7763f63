//===- QueueingTest.cpp - Conservation, bounds, snapshots -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelFixture.h"
#include <random>

namespace tessera::sim::dram::test {

/// Requests that keep the queues full until `count` are in.
static void saturate(Bench &b, const DramConfig &dram, unsigned count,
                     bool sequential) {
  std::mt19937_64 random(3);
  Cycle now = 0;
  for (unsigned i = 0; i != count; ++i) {
    uint64_t r = random();
    bool write = !sequential && r >> 60 < 4;
    At at{uint32_t(r & 1) % dram.pseudoChannels,
          0,
          uint32_t(r >> 1) % 4,
          uint32_t(r >> 3) % 4,
          uint32_t(r >> 5) % 64,
          uint32_t(r >> 20) % 32};
    // All pseudo-channels and groups in turn.
    if (sequential)
      at = {i & 1, 0, i >> 1 & 3, i / 256 % 4, i / 1024, i / 8 % 32};
    while (!b.offer(now, write, at, i)) {
      if (b.channel.nextStep() <= now)
        b.channel.step(now, b.done);
      now = std::max(now + 1, b.channel.nextStep());
    }
  }
}

/// Entries in the queues, summed over clocks, are the entries' waits.
TEST(DramQueueing, LittlesLaw) {
  for (bool sequential : {true, false}) {
    Bench b(hbm2());
    saturate(b, hbm2(), 5000, sequential);
    b.finish();
    const ChannelCounters &c = b.channel.counters();
    EXPECT_GT(c.waitClocks, 0u);
    EXPECT_EQ(c.occupancyClocks, c.waitClocks);
  }
}

TEST(DramQueueing, BandwidthIsBelowThePeakAndStreamsComeNear) {
  Bench b(hbm2());
  saturate(b, hbm2(), 20000, true);
  b.finish();
  Cycle end = b.done.back().clock;
  uint64_t offered = 2 * end; // Clocks of two data buses.
  EXPECT_LE(b.channel.counters().dataClocks, offered);
  EXPECT_GT(double(b.channel.counters().dataClocks), 0.9 * double(offered));
  EXPECT_EQ(b.channel.counters().dataClocks, 20000u * 2);
}

/// Random single atoms on DDR4: four activates per tFAW, no more.
TEST(DramQueueing, RandomTrafficIsBoundByActivates) {
  DramConfig dram = ddr4();
  Bench b(dram);
  saturate(b, dram, 5000, false);
  b.finish();
  const ChannelCounters &c = b.channel.counters();
  EXPECT_GE(b.commands.back().clock, c.activates / 4 * dram.tFAW - dram.tFAW);
  EXPECT_EQ(c.rowHits + c.rowMisses + c.rowConflicts, c.reads + c.writes);
  // A request whose bank was precharged for it may find its row opened for
  // another.
  EXPECT_LE(c.activates, c.rowMisses + c.rowConflicts);
}

static std::vector<uint8_t> save(Channel &channel) {
  ByteWriter out;
  Saver saver(out);
  serialize(saver, channel);
  return out.take();
}

static bool restore(Channel &channel, const std::vector<uint8_t> &bytes) {
  ByteReader in(bytes);
  Loader loader(in);
  serialize(loader, channel);
  return loader.ok() && in.remaining() == 0;
}

TEST(DramQueueing, SameInputSameCommands) {
  Bench a(hbm2()), b(hbm2());
  saturate(a, hbm2(), 3000, false);
  saturate(b, hbm2(), 3000, false);
  a.finish();
  b.finish();
  EXPECT_EQ(a.commands, b.commands);
  EXPECT_EQ(save(a.channel), save(b.channel));
}

TEST(DramSnapshot, GoesOnAsIfNothingHappened) {
  for (DramConfig dram : {ddr4(), hbm2()}) {
    dram.refresh = RefreshMode::AllBank;
    Bench a(dram), b(dram);
    saturate(a, dram, 3000, false);
    EXPECT_FALSE(a.channel.idle());
    ASSERT_TRUE(restore(b.channel, save(a.channel)));
    a.commands.clear();
    a.done.clear();
    Cycle now = 100'000;
    for (Bench *bench : {&a, &b}) {
      bench->finish();
      bench->read(now, {.row = 9}, 1);
      bench->finish();
    }
    EXPECT_FALSE(a.commands.empty());
    EXPECT_EQ(a.commands, b.commands);
    EXPECT_EQ(a.completionOf(1), b.completionOf(1));
    EXPECT_EQ(save(a.channel), save(b.channel));
  }
}

TEST(DramSnapshot, DamageIsRefusedOrHarmless) {
  Bench a(hbm2());
  saturate(a, hbm2(), 300, false);
  std::vector<uint8_t> bytes = save(a.channel);
  EXPECT_FALSE(restore(*std::make_unique<Channel>(ddr4()), bytes));
  std::mt19937_64 random(5);
  for (unsigned i = 0; i != 2000; ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[random() % damaged.size()] ^= 1 << random() % 8;
    Channel channel(hbm2());
    restore(channel, damaged); // Must not crash.
  }
  bytes.pop_back();
  Channel channel(hbm2());
  EXPECT_FALSE(restore(channel, bytes));
}

} // namespace tessera::sim::dram::test
