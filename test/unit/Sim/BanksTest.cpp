//===- BanksTest.cpp - Memory banks ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule of docs/timing.md, Memory banks, by hand; TickingTest compares
// it with words served one by one.
//
//===----------------------------------------------------------------------===//

#include "core/Banks.h"
#include "SimFixture.h"
#include "tessera/Support/Random.h"

namespace tessera::sim::test {

using isa::Space;

/// 16 banks of 16 bytes.
static const Architecture arch = tinyArchitecture();

static AccessPattern rows(uint32_t count, uint64_t base, int64_t pitchBytes,
                          uint32_t bytes) {
  AccessPattern p;
  p.td = tensor(Space::Spm, NumericFormat::I8, {count, bytes}, base);
  p.td.strides[0] = pitchBytes;
  p.outer = 1;
  p.setEnds();
  p.outerStep = 1;
  p.innerCount = bytes;
  return p;
}

TEST(Banks, AnAccessTakesTheWordsOfItsFullestBank) {
  BankLayout layout(arch);
  BankAccess access(layout);
  auto cycles = [&](std::initializer_list<std::pair<uint64_t, uint64_t>> runs) {
    access.clear();
    for (auto [low, high] : runs)
      access.add(low, high);
    return access.cycles();
  };
  EXPECT_EQ(cycles({{0, 256}}), 1u);           // a word of every bank
  EXPECT_EQ(cycles({{8, 256 + 8}}), 2u);       // 17 words: bank 0 twice
  EXPECT_EQ(cycles({{0, 4}, {256, 260}}), 2u); // the same bank
  EXPECT_EQ(cycles({{0, 4}, {8, 12}}), 1u);    // the same word
  EXPECT_EQ(cycles({{0, 4}, {272, 276}}), 1u); // neighbours
  EXPECT_EQ(cycles({}), 0u);
}

TEST(Banks, WhatIsKnownFirstGoesFirst) {
  Banks banks(arch);
  // Ten rows in bank 0, one a cycle from 100 on.
  EXPECT_EQ(banks.place(BankUser::MatrixA, rows(10, 0, 256, 16), 10, 100, 1),
            110u);
  // Four rows in bank 1 pass beside them; four in bank 0 come after them.
  EXPECT_EQ(banks.place(BankUser::MatrixB, rows(4, 16, 256, 16), 4, 102, 1),
            106u);
  Banks again(arch);
  again.place(BankUser::MatrixA, rows(10, 0, 256, 16), 10, 100, 1);
  EXPECT_EQ(again.place(BankUser::MatrixB, rows(4, 0, 256, 16), 4, 102, 1),
            114u);
}

TEST(Banks, GapsAreUsed) {
  Banks banks(arch);
  // A row every other cycle, 100 to 118, in bank 0: the other cycles are free.
  EXPECT_EQ(banks.place(BankUser::MatrixA, rows(10, 0, 256, 16), 10, 100, 2),
            120u);
  // 100 is taken: 101, 103, 105, and the end of the last is 106.
  EXPECT_EQ(banks.place(BankUser::MatrixB, rows(3, 0, 256, 16), 3, 100, 1),
            106u);
}

TEST(Banks, RowsThatMoveOnMeetOnce) {
  Banks banks(arch);
  // Both move on by a bank a cycle: `a` from bank 0, `b` from bank 2 two cycles
  // later, so they meet in every cycle; one cycle of waiting ends that.
  banks.place(BankUser::MatrixA, rows(10, 0, 16, 16), 10, 100, 1);
  EXPECT_EQ(banks.place(BankUser::MatrixB, rows(4, 32, 16, 16), 4, 102, 1),
            107u);
}

TEST(Banks, GroupsOfLanes) {
  // Three inputs of two words a group, two ports: two cycles; an output beside
  // them. Four groups, dense: group g of an operand lies 32 bytes on.
  auto f32 = [](uint64_t base) {
    return LaneAccesses::operand(
        tensor(Space::Spm, NumericFormat::F32, {4, 8}, base), 8, false);
  };
  LaneAccesses lanes;
  lanes.reads = {f32(0), f32(4096), f32(8192)};
  lanes.writes = {f32(12288)};
  lanes.readPorts = 2;
  lanes.groups = 4;
  Banks banks(arch);
  EXPECT_EQ(banks.place(lanes, 50), 58u);
  lanes.work = 5;
  banks.clear();
  EXPECT_EQ(banks.place(lanes, 50), 70u);
  // Rows in bank 2 in cycles 50 to 59: group 0 is in banks 0 and 1, group 1
  // would be in 2 and 3 from 52 on and waits until 60; then 2 cycles each.
  lanes.work = 1;
  banks.clear();
  banks.place(BankUser::MatrixA, rows(10, 32, 256, 16), 10, 50, 1);
  EXPECT_EQ(banks.place(lanes, 50), 66u);
}

// [4, 8] of f32: a row of 32 bytes lies in two banks, row r in 2r and 2r + 1. A
// row of the transposed is 16 bytes, row c in bank c.
TEST(Banks, TilesOfATranspose) {
  TileAccesses tiles;
  tiles.src = tensor(Space::Spm, NumericFormat::F32, {4, 8}, 0);
  tiles.dst = tensor(Space::Spm, NumericFormat::F32, {8, 4}, 4096);
  tiles.side = 8;
  tiles.readPorts = 3;
  // 4 rows in, 8 out.
  Banks banks(arch);
  EXPECT_EQ(banks.place(tiles, 50), 62u);
  // Rows of a matrix in bank 2 in cycles 50 to 59: row 1, which would be read
  // in 51, waits until 60. So the tile is full in 63, and the last of 8 rows is
  // written in 70, to bank 7.
  banks.clear();
  banks.place(BankUser::MatrixA, rows(10, 32, 256, 16), 10, 50, 1);
  EXPECT_EQ(banks.place(tiles, 50), 71u);
  // Who comes later goes around that.
  EXPECT_EQ(banks.place(BankUser::MatrixB, rows(1, 7 * 16, 256, 16), 1, 70, 1),
            72u);
  // The second tile is read while the first is written, though in the same
  // banks: 4, then 8 and 8. The one after next would have to wait for a buffer.
  tiles.src = tensor(Space::Spm, NumericFormat::F32, {3, 4, 8}, 0);
  tiles.dst = tensor(Space::Spm, NumericFormat::F32, {3, 8, 4}, 4096);
  banks.clear();
  EXPECT_EQ(banks.place(tiles, 0), 4 + 3 * 8u);
}

// Groups of 4 elements of 4 bytes: the indices and one gathered operand at two
// ports, written beside that.
TEST(Banks, GatheredGroups) {
  LaneAccesses lanes;
  lanes.readPorts = 2;
  lanes.groups = 2;
  lanes.reads.emplace_back().td.space = Space::Global;
  lanes.writes = {LaneAccesses::operand(
      tensor(Space::Spm, NumericFormat::F32, {8}, 4096), 4, true)};
  lanes.gathered = [](uint64_t group, BankAccess &access) {
    // Group 0: three words of bank 5. Group 1: one word of bank 9.
    for (uint64_t row = 0; row < (group == 0 ? 3 : 1); ++row)
      access.add(row * 256 + (group == 0 ? 80 : 144),
                 row * 256 + (group == 0 ? 84 : 148));
  };
  // ⌈(1 + 3) / 2⌉ and ⌈(1 + 1) / 2⌉.
  Banks banks(arch);
  EXPECT_EQ(banks.place(lanes, 100), 103u);
  // Who comes later finds bank 5 taken in 100 and in 101, bank 9 in 102.
  EXPECT_EQ(banks.place(BankUser::MatrixA, rows(1, 80, 256, 16), 1, 100, 1),
            103u);
  EXPECT_EQ(banks.place(BankUser::MatrixB, rows(1, 144, 256, 16), 1, 102, 1),
            104u);
  // Bank 9 is taken from 100 to 109: the second group waits until 110.
  banks.clear();
  banks.place(BankUser::MatrixA, rows(10, 144, 256, 16), 10, 100, 1);
  EXPECT_EQ(banks.place(lanes, 100), 111u);
}

// 32 values in groups of 8, two banks each; 8 best of them and their places,
// two cycles at one port.
TEST(Banks, ValuesAndResultsOfATopk) {
  auto operand = [](uint32_t elements, uint64_t base, bool written) {
    return LaneAccesses::operand(
        tensor(Space::Spm, NumericFormat::F32, {elements}, base), 8, written);
  };
  SortAccesses sort;
  sort.values.reads = {operand(32, 0, false)};
  sort.values.groups = 4;
  sort.results.writes = {operand(8, 4096, true), operand(8, 8192, true)};
  sort.results.groups = 1;
  sort.results.user = BankUser::VectorDrain;
  Banks banks(arch);
  EXPECT_EQ(banks.place(sort, 50), 54u);
  // Rows in bank 2 from 50 to 59: the second group of values, in banks 2 and 3,
  // waits until 60.
  banks.clear();
  banks.place(BankUser::MatrixA, rows(10, 32, 256, 16), 10, 50, 1);
  EXPECT_EQ(banks.place(sort, 50), 63u);
  // In bank 0 it is the first group, and the results beside it: 60 to 63.
  banks.clear();
  banks.place(BankUser::MatrixA, rows(10, 0, 256, 16), 10, 50, 1);
  EXPECT_EQ(banks.place(sort, 50), 64u);
  // Who comes later finds bank 0 taken in 60 and 61 by the results.
  EXPECT_EQ(banks.place(BankUser::MatrixB, rows(1, 0, 256, 16), 1, 60, 1), 63u);
}

// However much of it there is: 200,000 groups, each in bank 5, of which no two
// can be said together; and as many rows, every other cycle, each for itself.
TEST(Banks, NothingThatIsKnownIsForgotten) {
  LaneAccesses lanes;
  lanes.groups = 200'000;
  lanes.gathered = [](uint64_t, BankAccess &access) { access.add(80, 84); };
  Banks banks(arch);
  EXPECT_EQ(banks.place(lanes, 100), 200'100u);
  EXPECT_EQ(banks.place(BankUser::MatrixA, rows(1, 80, 256, 16), 1, 150'000, 1),
            200'101u);
  banks.clear();
  for (Cycle at = 0; at < 400'000; at += 2)
    banks.place(BankUser::MatrixA, rows(1, 80, 256, 16), 1, at, 1);
  EXPECT_EQ(banks.place(BankUser::MatrixB, rows(4, 80, 256, 16), 4, 399'992, 1),
            400'000u);
}

/// All words of a set of banks.
static std::vector<uint64_t> words(const BankLayout &layout,
                                   const BankSet &banks) {
  std::vector<uint64_t> all(layout.setWords());
  unite(all, banks);
  return all;
}

// Runs that are equally far apart stand for the pattern: the same banks, and
// the same again after as many as they say.
TEST(Banks, EvenRunsAreThePattern) {
  Random random(1);
  auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random.below(values.size())];
  };
  unsigned even = 0;
  for (unsigned i = 0; i < 4000; ++i) {
    Architecture other = arch;
    other.spm.banks = uint32_t(pick({4, 12, 16}));
    BankLayout layout(other);
    AccessPattern p;
    auto format =
        std::array{NumericFormat::I4, NumericFormat::I8, NumericFormat::BF16,
                   NumericFormat::F32}[random.below(4)];
    p.td = tensor(Space::Spm, format,
                  {uint32_t(1 + random.below(3)), uint32_t(1 + random.below(6)),
                   uint32_t(1 + random.below(9))},
                  8192);
    p.td.strides[0] = pick({0, 54, 64, 512, -512});
    p.td.strides[1] = pick({0, 9, 64, 128, -128, 1536});
    p.td.strides[1] = random.below(3) == 0 ? p.td.extents[2] : p.td.strides[1];
    p.outer = uint8_t(random.below(3));
    p.setEnds();
    p.outerFirst = random.below(2);
    p.outerStep = p.outer ? random.below(3) : 0;
    p.innerStep = p.outerStep ? 0 : random.below(5);
    p.innerFirst = random.below(5);
    p.innerCount = 1 + random.below(8);
    std::optional<EvenRuns> runs = p.evenRuns();
    if (!runs)
      continue;
    ++even;
    std::vector<std::vector<uint64_t>> sets;
    for (uint64_t n = 0; n < 12; ++n) {
      BankAccess expected(layout), actual(layout);
      p.access(n, expected);
      EvenRuns::Bytes bytes = runs->bytes(n);
      if (bytes.low < bytes.high)
        actual.add(bytes.low, bytes.high);
      ASSERT_EQ(actual.cycles(), expected.cycles()) << i << ", " << n;
      for (unsigned level = 0; level < expected.numCycles(); ++level)
        ASSERT_EQ(words(layout, actual.banks(level)),
                  words(layout, expected.banks(level)))
            << i << ", " << n;
      sets.push_back(words(layout, actual.banks(0)));
      uint64_t again = runs->sets(layout.spm);
      if (n >= again && n < runs->count) {
        ASSERT_EQ(sets[n], sets[n - again]) << i << ", " << n;
      }
    }
  }
  EXPECT_GT(even, 1000u);
}

/// One mma of two blocks of columns; b's second block lies in the banks of `a`.
TEST(Banks, WeightsWaitForRows) {
  for (bool conflicts : {false, true}) {
    Machine m;
    Kernel k;
    k.td(0, tensor(Space::Acc, NumericFormat::F32, {10, 16}, 0));
    isa::Descriptor a = tensor(Space::Spm, NumericFormat::BF16, {10, 8},
                               conflicts ? 16 : 64),
                    b = tensor(Space::Spm, NumericFormat::BF16, {8, 16}, 32768);
    a.strides[0] = b.strides[0] = 128; // 256 bytes: all rows in the same bank
    k.td(1, a);
    k.td(2, b);
    k.mma(0, 1, 2);
    k.halt();
    m.run(k);
    // Taken in 4; 8 cycles of loading, bank 0; rows from 12 to 22 in bank 1 or
    // 4. The second block's weights, bank 1: from 12 to 20, behind the rows; or
    // from 22 to 30. Then 10 rows, and R + C - 2 + F = 15.
    EXPECT_EQ(m.span(3).end, (conflicts ? 30u : 22u) + 10 + 15);
    EXPECT_EQ(m.device.statistics()
                  .cores[0]
                  .engines[size_t(Engine::Matrix)]
                  .byCause[size_t(StallCause::BankConflict)],
              conflicts ? 8u : 0u);
  }
}

} // namespace tessera::sim::test
