//===- RangeAllocatorTest.cpp - First-fit allocation of ranges ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RangeAllocator.h"
#include "tessera/Support/Random.h"
#include <gtest/gtest.h>
#include <vector>

using namespace tessera;
using tessera::runtime::RangeAllocator;

TEST(RangeAllocator, AlignsAndMerges) {
  RangeAllocator ranges(16, 1024);
  // Small: as high as alignment lets it, 1024 - 100 = 924 = 14 · 64 + 28.
  EXPECT_EQ(ranges.allocate(100, 64), 896u);
  EXPECT_EQ(ranges.allocate(16, 16), 1008u); // In the gap that alignment left.
  EXPECT_EQ(ranges.available(), 1008u - 116);
  EXPECT_FALSE(ranges.allocate(1000, 1));
  EXPECT_EQ(ranges.failures(), 1u);
  ranges.release(896, 100);
  ranges.release(1008, 16);
  EXPECT_EQ(ranges.largestFree(), 1008u);
  EXPECT_EQ(ranges.used(), 0u);
  EXPECT_EQ(ranges.allocate(1008, 1), 16u);
}

// Random traffic: live ranges never overlap, and all comes back as one range.
TEST(RangeAllocator, NeverOverlaps) {
  Random random(1);
  RangeAllocator ranges(0, 1 << 16);
  std::vector<std::pair<uint64_t, uint64_t>> live;
  for (int i = 0; i < 20000; ++i) {
    if (random.below(2) || live.empty()) {
      uint64_t bytes = 1 + random.below(2000);
      uint64_t alignment = uint64_t(1) << random.below(10);
      bool there = random.below(4) == 0; // Or wherever there is room.
      uint64_t at = random.below(1 << 16);
      bool free = at + bytes <= 1 << 16;
      for (auto [other, size] : live)
        free &= at + bytes <= other || other + size <= at;
      if (there) {
        ASSERT_EQ(ranges.allocateAt(at, bytes), free);
        if (free)
          live.push_back({at, bytes});
      } else if (auto begin = ranges.allocate(bytes, alignment)) {
        EXPECT_EQ(*begin % alignment, 0u);
        ASSERT_LE(*begin + bytes, 1u << 16);
        for (auto [other, size] : live)
          ASSERT_TRUE(*begin + bytes <= other || other + size <= *begin);
        live.push_back({*begin, bytes});
      }
    } else {
      size_t victim = random.below(live.size());
      ranges.release(live[victim].first, live[victim].second);
      live.erase(live.begin() + victim);
    }
  }
  for (auto [begin, bytes] : live)
    ranges.release(begin, bytes);
  EXPECT_EQ(ranges.largestFree(), 1u << 16);
}
