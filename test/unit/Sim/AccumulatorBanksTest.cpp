//===- AccumulatorBanksTest.cpp - The accumulators' banks -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of docs/timing.md, Memory banks, for rows of sums. A word is 32
// bytes, eight values; row r lies in bank r mod 2. A row that streams in cycle
// t reads its sums in t, if it adds to them, and writes them in t + 8.
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include "core/Banks.h"

namespace tessera::sim::test {

using isa::Space;

namespace {

/// 8 columns, 2 banks of accumulators.
const Architecture arch = tinyArchitecture();

isa::Descriptor sums(uint32_t rows, uint64_t base = 0) {
  return tensor(Space::Acc, NumericFormat::F32, {rows, 8}, base);
}

/// Rows of 8 bytes in bank 15 of the scratchpad, which nobody else needs.
RowAccesses streamed(const isa::Descriptor &acc, bool adds) {
  RowAccesses result;
  result.rows.td =
      tensor(Space::Spm, NumericFormat::I8, {acc.extents[0], 8}, 240);
  result.rows.td.strides[0] = 256;
  result.sums.td = acc;
  for (AccessPattern *p : {&result.rows, &result.sums}) {
    p->outer = 1;
    p->setEnds();
    p->outerStep = 1;
    p->innerCount = 8;
  }
  result.sums.written = true;
  if (adds) {
    result.addends = result.sums;
    result.addends->written = false;
  }
  result.writeDelay = 8;
  return result;
}

/// A group of eight lanes per row of even number, so always bank 0.
LaneAccesses evenRows(bool written) {
  isa::Descriptor td = sums(10);
  td.strides[0] = 16;
  LaneAccesses lanes;
  (written ? lanes.writes : lanes.reads)
      .push_back(LaneAccesses::operand(td, 8, written));
  lanes.groups = 10;
  return lanes;
}

} // namespace

// The vector engine reads bank 0 from 100 to 109. What adds to row 0 waits
// until 110; what does not add reads nothing.
TEST(AccumulatorBanks, RowsThatAddReadTheirSums) {
  for (bool adds : {false, true}) {
    Banks banks(arch);
    EXPECT_EQ(banks.place(evenRows(false), 100), 110u);
    EXPECT_EQ(banks.place(streamed(sums(10), adds), 10, 100, 1),
              adds ? 120u : 110u);
  }
}

// It writes bank 0 from 100 to 109. Row 0, written 8 cycles after it is read,
// enters in 102; then a row a cycle.
TEST(AccumulatorBanks, RowsEnterWhenTheirSumsCanBeWritten) {
  Banks banks(arch);
  EXPECT_EQ(banks.place(evenRows(true), 100), 110u);
  EXPECT_EQ(banks.place(streamed(sums(10), false), 10, 100, 1), 112u);
}

// A bank reads and writes side by side, so reading and writing groups pass.
TEST(AccumulatorBanks, ReadingDoesNotDisturbWriting) {
  Banks banks(arch);
  banks.place(streamed(sums(10), false), 10, 100, 1); // writes, 108 to 117
  EXPECT_EQ(banks.place(evenRows(false), 108), 118u);
}

// Rows that are known first read bank 0 in 100, 102 ... 108: groups 0 to 3 pass
// in the odd cycles from 101 to 107, group 4 in 109, and the rest behind.
TEST(AccumulatorBanks, GroupsGoAroundRows) {
  Banks banks(arch);
  EXPECT_EQ(banks.place(streamed(sums(10), true), 10, 100, 1), 110u);
  EXPECT_EQ(banks.place(evenRows(false), 100), 115u);
}

// A burst that a store reads in bank 1 goes into the cycles of even rows.
TEST(AccumulatorBanks, BurstsGoAroundRows) {
  Banks banks(arch);
  banks.place(streamed(sums(10), true), 10, 100, 1);
  BankAccess access(banks.layout);
  access.clear(Space::Acc);
  access.add(32, 64);
  access.cycles();
  EXPECT_EQ(banks.place(access, 101).first, 102u);
}

// Rows of the transposed accumulator: eight values 40 bytes apart, in words 0,
// 1, 2, 3, 5, 6, 7 and 8: four in each bank, so four cycles a row.
TEST(AccumulatorBanks, SumsThatLieApartTakeLonger) {
  isa::Descriptor apart = sums(10);
  apart.strides = {1, 10};
  Banks banks(arch);
  EXPECT_EQ(banks.place(streamed(apart, false), 10, 100, 1), 140u);
}

// Two beats a row: the sums are read with the second.
TEST(AccumulatorBanks, SumsAreReadWithTheLastBeat) {
  RowAccesses rows = streamed(sums(5), true);
  rows.readDelay = 1;
  rows.writeDelay = 9;
  Banks banks(arch);
  LaneAccesses one = evenRows(false);
  one.groups = 1;
  // Bank 0 is read in 101: row 0, which would be in 100, enters in 101.
  EXPECT_EQ(banks.place(one, 101), 102u);
  EXPECT_EQ(banks.place(rows, 5, 100, 2), 111u);
}

// A map begins in t and reads bank 0 until t + 29. An mma begins in t + 1; its
// weights are there in t + 9. If it adds, its first row waits for 21 cycles.
TEST(AccumulatorBanks, AnMmaBehindAMap) {
  for (bool adds : {false, true}) {
    Machine m;
    Kernel k;
    isa::MapProgram sum;
    sum.inputs = 2;
    sum.ops = {{isa::LaneOpcode::ADDF, 0, 0, 1, 0, 0}};
    k.maps.push_back(sum);
    k.td(0, sums(40));
    isa::Descriptor a = tensor(Space::Spm, NumericFormat::BF16, {40, 8}, 0),
                    in = sums(30, 8192),
                    out = tensor(Space::Spm, NumericFormat::F32, {30, 8},
                                 49152 + 14 * 16);
    a.strides[0] = 128;  // bank 0 of the scratchpad
    in.strides[0] = 16;  // bank 0 of the accumulators
    out.strides[0] = 64; // banks 14 and 15
    k.td(1, a);
    k.td(2, tensor(Space::Spm, NumericFormat::BF16, {8, 8}, 16384)); // 0 to 7
    k.td(3, in);
    k.td(4, out);
    auto pc = uint32_t(k.program.size());
    k.map(0, 4, {3, 3});
    k.mma(0, 1, 2, adds);
    k.halt();
    DispatchRecord r = m.run(k);
    uint64_t t = m.span(pc).begin;
    EXPECT_EQ(m.span(pc + 1).begin, t + 1);
    // 40 rows, then R + C - 2 + F = 15.
    EXPECT_EQ(m.span(pc + 1).end, t + (adds ? 30u : 9u) + 40 + 15);
    EXPECT_EQ(r.engines[size_t(Engine::Matrix)][StallCause::BankConflict],
              adds ? 21u : 0u);
  }
}

} // namespace tessera::sim::test
