//===- TranslationTest.cpp - Page walks of streams --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"

namespace tessera::sim::test {

using isa::Queue;
using isa::Space;

namespace {

constexpr uint64_t page = 1 << 21, pages = 64; // of the fixture

struct Walked {
  uint64_t first = 0, second = 0; ///< Cycles of the two loads.
  uint64_t walks = 0;             ///< Beside those of the code.
  isa::mmio::FaultCause fault{};
};

/// Loads a burst from page `number`, and later one from page `then`.
Walked walked(uint32_t walkers, uint64_t number, uint64_t then) {
  Architecture arch = tinyArchitecture();
  arch.tlb.walkers = walkers;
  arch.tlb.l2Latency = 8;
  auto kernel = [&](bool loads) {
    Kernel k;
    k.td(0, tensor(Space::Spm, NumericFormat::F32, {16}, 0));
    uint32_t at[2] = {};
    unsigned i = 0;
    for (uint64_t p : {number, then}) {
      k.td(1, tensor(Space::Global, NumericFormat::F32, {16}, p * page));
      k.pause(400);
      at[i++] = uint32_t(k.program.size());
      if (loads)
        k.load(0, 1);
    }
    k.halt();
    return std::pair(k, std::pair(at[0], at[1]));
  };
  Machine without(arch), with(arch);
  without.run(kernel(false).first);
  auto [k, places] = kernel(true);
  with.run(k);
  Walked w;
  w.fault = with.fault();
  Span a = with.span(places.first), b = with.span(places.second);
  w.first = a.end - a.begin, w.second = b.end - b.begin;
  w.walks = with.device.statistics().pageWalks -
            without.device.statistics().pageWalks;
  return w;
}

} // namespace

// A page's walk reads three entries one after the other. Each takes 1 cycle to
// memory, 10 + 4 from an open row and 1 back: 16. The leaves' table lies in the
// bank of the data that is loaded, and each replaces the other's row: 1 + 10
// more for a precharge's slot and an activate, so 27; and 17 + 11 for a load.
TEST(Translation, OneWalkerNeverWalksAhead) {
  Walked w = walked(1, 8, 9);
  EXPECT_EQ(w.walks, 2u);
  EXPECT_EQ(w.second, 16 + 16 + 27 + 28u);
}

// The second page's translation is in the second level when it is asked for: 8
// cycles instead of the walk.
TEST(Translation, TheNextPageIsWalkedAhead) {
  Walked one = walked(1, 8, 9), two = walked(2, 8, 9);
  // Page 9 behind page 8, page 10 behind page 9.
  EXPECT_EQ(two.walks, 3u);
  EXPECT_EQ(two.first, one.first);
  EXPECT_EQ(two.second, 8 + 28u);
}

// Page 11 is walked to when it is asked for. The walk of page 9 has left the
// leaves' row open.
TEST(Translation, OnlyTheNextPage) {
  Walked w = walked(4, 8, 11);
  EXPECT_EQ(w.walks, 4u);
  EXPECT_EQ(w.second, 3 * 16 + 28u);
}

// Behind the last page that is mapped there is none: nothing happens.
TEST(Translation, AheadOfTheLastPageIsNothing) {
  Walked w = walked(4, pages - 2, pages - 1);
  EXPECT_EQ(w.fault, isa::mmio::FaultCause::None);
  EXPECT_EQ(w.walks, 3u);
  EXPECT_EQ(w.second, 8 + 28u);
}

} // namespace tessera::sim::test
