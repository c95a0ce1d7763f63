//===- RunsTest.cpp - Runs of atoms against single atoms --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel that gets runs of a row's atoms and goes through many clocks at
// once against one that gets the same atoms singly, takes every clock by itself
// and looks at everything in each.
//
//===----------------------------------------------------------------------===//

#include "ChannelFixture.h"
#include <map>
#include <random>

namespace tessera::sim::dram::test {

namespace {

/// Atoms and the last clock of each token's completions.
std::map<uint64_t, std::pair<uint32_t, Cycle>>
completed(const std::vector<Completion> &done) {
  std::map<uint64_t, std::pair<uint32_t, Cycle>> result;
  for (const Completion &c : done) {
    auto &[atoms, clock] = result[c.token];
    atoms += c.atoms;
    clock = std::max(clock, c.clock);
  }
  return result;
}

/// Every clock up to `clock`, whether something can happen or not.
void walkTo(Bench &b, Cycle &at, Cycle clock) {
  for (; at < clock; ++at) {
    b.channel.forgetBounds();
    b.channel.step(at, b.done);
  }
}

void compare(const DramConfig &dram, uint64_t seed, bool rows) {
  Bench runs(dram), atoms(dram);
  std::mt19937_64 random(seed);
  Cycle now = 0, walked = 0, open = 0;
  for (uint64_t token = 0; token != 1500; ++token) {
    uint64_t r = random();
    DramCoordinates c;
    c.pseudoChannel = uint32_t(r & 1) % dram.pseudoChannels;
    c.rank = uint32_t(r >> 1 & 1) % dram.ranks;
    c.bankGroup = uint32_t(r >> 2) % dram.bankGroups;
    c.bank = uint32_t(r >> 4) % dram.banksPerGroup;
    // Few rows, so that many hit; or all but always another one.
    Access run{(r >> 60) < 5, runs.channel.bankOf(c),
               uint32_t(r >> 8) % (rows ? 64 : 2), uint32_t(r >> 16) % 16,
               token};
    run.atoms = 1 + uint32_t(r >> 24) % 12;
    if ((r >> 32) % 16 == 0)
      now += (r >> 40) % 200; // a pause
    for (;;) {
      if (now != 0)
        open = runs.channel.goThrough(open, now - 1, runs.done);
      runs.channel.advance(now, runs.done);
      uint32_t taken = runs.channel.offerAlone({&run, 1}, now)
                           ? run.atoms
                           : runs.channel.offer(run, now, runs.done);
      walkTo(atoms, walked, now);
      uint32_t single = 0;
      for (; single != run.atoms; ++single) {
        Access atom = run;
        atom.column += single;
        atom.atoms = 1;
        if (!atoms.channel.offer(atom, now, atoms.done))
          break;
      }
      ASSERT_EQ(taken, single);
      run.column += taken;
      run.atoms -= taken;
      if (run.atoms == 0)
        break;
      ++now;
    }
  }
  // Refreshes behind the last atom are skipped, where there is nobody to tell.
  now = runs.channel.goThrough(open, ~Cycle(0), runs.done);
  walkTo(atoms, walked, now);
  EXPECT_EQ(runs.commands, atoms.commands);
  EXPECT_EQ(completed(runs.done), completed(atoms.done));
  const ChannelCounters &a = runs.channel.counters(),
                        &b = atoms.channel.counters();
  EXPECT_EQ(a.rowHits, b.rowHits);
  EXPECT_EQ(a.rowMisses, b.rowMisses);
  EXPECT_EQ(a.rowConflicts, b.rowConflicts);
  EXPECT_EQ(a.occupancyClocks, b.occupancyClocks);
  EXPECT_EQ(a.waitClocks, a.occupancyClocks);
  EXPECT_EQ(a.readsFromWriteQueue, b.readsFromWriteQueue);
  EXPECT_GT(a.reads, 0u);
  EXPECT_GT(a.writes, 0u);
}

} // namespace

TEST(DramRuns, AreTheirAtoms) {
  for (DramConfig dram : {ddr4(), hbm2(), lpddr5()})
    for (RefreshMode refresh :
         {RefreshMode::None, RefreshMode::AllBank, RefreshMode::PerBank})
      for (PagePolicy page : {PagePolicy::Open, PagePolicy::Closed})
        for (bool rows : {false, true}) {
          dram.refresh = refresh;
          dram.pagePolicy = page;
          SCOPED_TRACE(testing::Message()
                       << dram.pseudoChannels << " pseudo-channels, "
                       << dram.tCL << ", refresh " << int(refresh) << ", page "
                       << int(page) << ", many rows " << rows);
          compare(dram, 7, rows);
        }
}

} // namespace tessera::sim::dram::test
