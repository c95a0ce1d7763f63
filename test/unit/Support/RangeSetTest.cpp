//===- RangeSetTest.cpp - A set of numbers, kept as ranges ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/RangeSet.h"
#include "tessera/Support/Random.h"
#include <bitset>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

using namespace tessera;
using ::testing::ElementsAre;
using ::testing::Pair;

namespace {

std::vector<std::pair<uint64_t, uint64_t>> rangesOf(const RangeSet &set) {
  return {set.begin(), set.end()};
}

TEST(RangeSet, RangesThatMeetAreOne) {
  RangeSet set;
  set.add(10, 20);
  set.add(30, 40);
  EXPECT_THAT(rangesOf(set), ElementsAre(Pair(10, 20), Pair(30, 40)));
  set.add(20, 22); // Right behind.
  set.add(28, 30); // Right before.
  EXPECT_THAT(rangesOf(set), ElementsAre(Pair(10, 22), Pair(28, 40)));
  set.add(15, 35); // Over the gap.
  EXPECT_THAT(rangesOf(set), ElementsAre(Pair(10, 40)));
  set.add(50, 50); // Nothing.
  EXPECT_THAT(rangesOf(set), ElementsAre(Pair(10, 40)));
}

// Against one bit for each number.
TEST(RangeSet, IsTheSetOfItsNumbers) {
  constexpr uint64_t size = 256;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    RangeSet set;
    std::bitset<size> bits;
    for (uint64_t i = 0, count = random.below(30); i < count; ++i) {
      uint64_t low = random.below(size), high = low + random.below(20);
      high = std::min(high, size);
      set.add(low, high);
      for (uint64_t n = low; n < high; ++n)
        bits.set(n);
    }
    std::bitset<size> found;
    uint64_t last = 0;
    for (const auto &[low, high] : set) {
      EXPECT_TRUE(low > last || last == 0) << "ranges that meet";
      EXPECT_LT(low, high);
      last = high;
      for (uint64_t n = low; n < high; ++n)
        found.set(n);
    }
    EXPECT_EQ(found, bits);
    uint64_t low = random.below(size), high = low + random.below(size - low);
    std::bitset<size> missing, expected;
    set.forEachMissing(low, high, [&](uint64_t from, uint64_t to) {
      EXPECT_LT(from, to);
      for (uint64_t n = from; n < to; ++n)
        missing.set(n);
    });
    for (uint64_t n = low; n < high; ++n)
      expected[n] = !bits[n];
    EXPECT_EQ(missing, expected);
  }
}

} // namespace
