//===- MemorySystemTest.cpp - Channels, slices, cache, host link -*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/MemorySystem.h"
#include "MemoryReport.h"
#include "SimFixture.h"
#include "tessera/Support/Random.h"
#include <map>

namespace tessera::sim::test {

namespace {

using isa::PhysicalSpace;

/// A memory system with nothing else; answers are written down.
class MemoryBench : public Component {
public:
  explicit MemoryBench(const Architecture &a, bool everyClock = false)
      : arch(a), clock(arch.clockGhz), self(events.add(*this)),
        noc(arch, clock, events), memory(arch, clock, events, noc, everyClock) {
  }

  void handle(const Event &event) override {
    answers[event.payload] = clock.floor(events.now());
  }
  MemoryRequest make(uint64_t number, PhysicalSpace space, bool write,
                     uint64_t address, uint32_t bytes) {
    MemoryRequest r;
    r.space = space;
    r.write = write;
    r.address = address;
    r.bytes = bytes;
    r.reply = {self, 0, 0, number};
    return r;
  }
  void runTo(Cycle cycle) {
    while (!events.empty() && events.nextTime() <= clock.at(cycle))
      events.executeNext();
    if (events.now() < clock.at(cycle))
      events.passTo(clock.at(cycle));
  }
  void finish() {
    while (!events.empty())
      events.executeNext();
  }
  /// Cycles from now to the answer.
  Cycle time(PhysicalSpace space, bool write, uint64_t address,
             uint32_t bytes) {
    Cycle start = clock.ceil(events.now());
    memory.request(make(next, space, write, address, bytes));
    finish();
    return answers.at(next++) - start;
  }

  Architecture arch;
  Clock clock;
  EventQueue events;
  ComponentId self;
  Noc noc;
  MemorySystem memory;
  std::map<uint64_t, Cycle> answers;
  uint64_t next = 1;
};

Architecture channels(uint32_t count, std::string_view preset) {
  Architecture a = tinyArchitecture();
  DramConfig dram = loadArchitecture(preset)->dram;
  dram.channels = count;
  dram.bytes = uint64_t(count) << 28;
  a.dram = dram;
  a.dram.mapping = DramMapping::defaultFor(a.dram, a.dma.burstBytes);
  return a;
}

} // namespace

// Going through many clocks at once gives every answer in the same cycle as an
// event for every clock: reads and writes, light and hopeless load, refreshes,
// with and without cache.
TEST(MemorySystem, BatchesOfClocksAreExact) {
  uint64_t seed = 0, spread = 0, full = 0;
  for (std::string_view preset : {"tiny", "edge", "tpuv4like"})
    for (bool cache : {false, true})
      for (uint32_t gap : {0u, 3u, 40u})
        for (uint32_t burst : {64u, 256u}) {
          Architecture arch = channels(2, preset);
          arch.dma.burstBytes = burst;
          arch.dram.mapping = DramMapping::defaultFor(arch.dram, burst);
          arch.cores = {4, 2, 2};
          if (cache)
            arch.llc = {1 << 16, 4};
          MemoryBench batched(arch), single(arch, true);
          Random random(++seed);
          Cycle cycle = 1;
          uint64_t streams[4] = {};
          for (uint64_t i = 0; i != 1500; ++i) {
            auto core = uint32_t(random.between(0, 3));
            bool isRandom = random.between(0, 3) == 0;
            uint64_t address =
                isRandom ? random.below(1 << 14) * 64
                         : uint64_t(core) << 20 | (streams[core] += burst);
            auto bytes = uint32_t(isRandom ? random.between(1, 64)
                                           : burst - address % burst);
            bool write = random.between(0, 2) == 0;
            for (MemoryBench *b : {&batched, &single}) {
              MemoryRequest r =
                  b->make(i, PhysicalSpace::Dram, write, address, bytes);
              r.node = core;
              r.account = core;
              b->runTo(cycle);
              b->memory.request(r);
            }
            cycle += uint64_t(random.between(0, gap));
          }
          batched.finish();
          single.finish();
          ASSERT_EQ(batched.answers.size(), 1500u);
          ASSERT_EQ(batched.answers, single.answers)
              << preset << ", cache " << cache << ", gap " << gap;
          EXPECT_LT(batched.events.executed(), single.events.executed());
          spread += batched.events.executed();
          full += single.events.executed();
          // What was asked for is what the channels did.
          dram::ChannelCounters c = batched.memory.dramCounters();
          EXPECT_EQ((c.reads + c.writes + c.readsFromWriteQueue) *
                        arch.dram.atomBytes(),
                    batched.memory.dramBytes().total());
          EXPECT_EQ(batched.memory.waitingAtoms(), 0u);
          Status conserved = checkMemory(batched.memory, batched.noc);
          EXPECT_TRUE(conserved.ok()) << conserved.message();
          MemoryStatistics s =
              describeMemory(batched.memory, batched.noc, arch);
          uint64_t accesses = 0, hits = 0;
          for (const ChannelStatistics &channel : s.channels) {
            hits += channel.rowHits + channel.rowMisses + channel.rowConflicts;
            for (const BankStatistics &bank : channel.banks)
              accesses += bank.accesses;
          }
          EXPECT_EQ(accesses, c.reads + c.writes);
          EXPECT_EQ(hits, accesses);
          EXPECT_EQ(s.messagesInjected, s.messagesEjected);
          EXPECT_EQ(c.occupancyClocks, c.waitClocks); // Little's law
          EXPECT_TRUE(batched.noc.state().idle());
          EXPECT_TRUE(batched.noc.state().conserves());
        }
  EXPECT_LT(spread, full * 8 / 10);
}

// 4 slices of 2 banks of 32 bytes, units of 64 bytes, latency 10, on a link of
// 64 bytes and one hop each way.
TEST(SharedSlices, BanksServeAWordACycle) {
  Architecture arch = tinyArchitecture();
  arch.shared = {1 << 20, 4, 2, 32, 10};
  MemoryBench m(arch);
  auto read = [&](uint64_t address, uint32_t bytes) {
    return m.time(PhysicalSpace::Shared, false, address, bytes);
  };
  EXPECT_EQ(read(0, 32), 1u + 10 + 1);
  EXPECT_EQ(read(0, 64), 1u + 10 + 1); // a word in each bank
  EXPECT_EQ(read(16, 48), 1u + 10 + 1);
  // One bank: its second word a cycle later.
  arch.shared.banks = 1;
  MemoryBench one(arch);
  EXPECT_EQ(one.time(PhysicalSpace::Shared, false, 0, 64), 1u + 11 + 1);
  // Three requests to one slice in a cycle: the network brings one a cycle, and
  // each finds the bank busy for one more.
  Cycle start = one.clock.ceil(one.events.now());
  for (uint64_t i = 0; i != 3; ++i)
    one.memory.request(
        one.make(100 + i, PhysicalSpace::Shared, false, i * 256, 64));
  one.finish();
  for (uint64_t i = 0; i != 3; ++i)
    EXPECT_EQ(one.answers.at(100 + i), start + 1 + 2 * i + 11 + 1);
  EXPECT_EQ(one.memory.sliceCounters()[0].conflictCycles, 0u + 1 + 1);
  EXPECT_EQ(one.memory.sliceCounters()[0].bytes, 4u * 64);
}

// 32 bytes a ns, 500 ns each way.
TEST(HostLink, WritesArePostedReadsTakeBothWays) {
  MemoryBench m(tinyArchitecture());
  EXPECT_EQ(m.time(PhysicalSpace::Host, true, 0, 64), 1u + 2 + 1);
  EXPECT_EQ(m.time(PhysicalSpace::Host, false, 0, 64), 1u + 1000 + 2 + 1);
  // 16 writes of 64 bytes at once: 2 ns each on the link.
  Cycle start = m.clock.ceil(m.events.now());
  m.memory.request(m.make(100, PhysicalSpace::Host, true, 0, 1024));
  m.finish();
  EXPECT_EQ(m.answers.at(100), start + 1 + 32 + 1);
  EXPECT_EQ(m.memory.hostLink().toHost().bytes, 64u + 1024);
}

// The tests' DRAM: 20 ns from a closed bank, 10 from an open row, 4 of data.
TEST(Llc, HitsTakeTheLatencyAlone) {
  Architecture arch = tinyArchitecture();
  arch.llc = {64 * 1024, 4};
  arch.shared.latency = 6;
  MemoryBench m(arch);
  auto access = [&](bool write, uint64_t address, uint32_t bytes) {
    return m.time(PhysicalSpace::Dram, write, address, bytes);
  };
  EXPECT_EQ(access(false, 0, 64), 1u + 24 + 6 + 1); // fetched
  EXPECT_EQ(access(false, 0, 64), 1u + 6 + 1);
  EXPECT_EQ(access(true, 32, 8), 1u + 6 + 1);
  EXPECT_EQ(access(true, 4096, 64), 1u + 6 + 1); // all of it: nothing fetched
  EXPECT_EQ(access(false, 4096, 4), 1u + 6 + 1);
  // Fetched for a part, from the row that the first one opened.
  EXPECT_EQ(access(true, 8192 + 8, 8), 1u + 14 + 6 + 1);
  const LlcCounters &c = m.memory.cacheCounters();
  EXPECT_EQ(c.hits, 3u);
  EXPECT_EQ(c.misses, 3u);
  EXPECT_EQ(c.fills, 2u);
  EXPECT_EQ(c.writeBacks, 0u);
  EXPECT_EQ(m.memory.dramBytes().total(), 2u * 64);
}

// Lines written go to DRAM once, when they are given up; two askers for a line
// on its way cause one fetch.
TEST(Llc, WritesBackWhatItGivesUp) {
  Architecture arch = tinyArchitecture();
  arch.llc = {4 * 64, 4}; // one set
  MemoryBench m(arch);
  for (uint64_t i = 0; i != 6; ++i)
    m.time(PhysicalSpace::Dram, true, i * 64, 64);
  EXPECT_EQ(m.memory.cacheCounters().writeBacks, 2u);
  EXPECT_EQ(m.memory.dramCounters().writes, 2u);
  // Lines 2 to 5 are there; 0 is not.
  m.memory.request(m.make(100, PhysicalSpace::Dram, false, 0, 32));
  m.memory.request(m.make(101, PhysicalSpace::Dram, false, 32, 32));
  m.finish();
  EXPECT_EQ(m.memory.dramCounters().reads, 1u);
  EXPECT_EQ(m.memory.cacheCounters().writeBacks, 3u);
  EXPECT_LE(m.answers.at(100), m.answers.at(101));
  EXPECT_EQ(m.memory.dramBytes().cache, m.memory.dramBytes().total());
}

// The network pushes back: a store engine's endpoint takes no more than its
// queue holds, and everything comes through.
TEST(MemorySystem, QueuesAreFinite) {
  MemoryBench m(channels(1, "tiny"));
  uint64_t sent = 0;
  while (m.memory.accepts(0)) {
    m.memory.request(m.make(sent, PhysicalSpace::Dram, true, sent * 8192, 64));
    ++sent;
  }
  EXPECT_EQ(sent, m.noc.state().places());
  for (Cycle cycle = 1; sent != 2000; ++cycle) {
    m.runTo(cycle);
    while (sent != 2000 && m.memory.accepts(0)) {
      m.memory.request(
          m.make(sent, PhysicalSpace::Dram, true, sent * 8192, 64));
      ++sent;
    }
    EXPECT_LE(m.noc.queued(0, Noc::Class::Request), m.noc.state().places());
  }
  m.finish();
  EXPECT_EQ(m.answers.size(), 2000u);
  EXPECT_EQ(m.memory.dramCounters().writes, 2000u);
}

} // namespace tessera::sim::test
