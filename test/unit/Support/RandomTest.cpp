//===- RandomTest.cpp - Tests of random numbers and hashes ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Random.h"
#include "tessera/Support/Hash.h"
#include <gtest/gtest.h>
#include <string_view>

using namespace tessera;

TEST(Random, SameSeedSameNumbers) {
  Random a(42), b(42), c(43);
  uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  // Published output of SplitMix64-seeded xoshiro256** with seed 0.
  EXPECT_EQ(Random(0).next(), 0x99ec5f36cb75f2b4u);
}

TEST(Random, RangesHold) {
  Random random(7);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    int64_t value = random.between(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    low |= value == -2;
    high |= value == 2;
    float unit = random.uniformFloat();
    ASSERT_GE(unit, 0.0f);
    ASSERT_LT(unit, 1.0f);
  }
  EXPECT_TRUE(low && high);
  EXPECT_EQ(random.between(5, 5), 5);
  (void)random.between(INT64_MIN, INT64_MAX);
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(3);
  double sum = 0, squares = 0;
  constexpr int count = 100000;
  for (int i = 0; i < count; ++i) {
    double value = random.normalFloat();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
}

TEST(Hash, IsXxh3) {
  EXPECT_EQ(hashBytes(std::string_view("")), 0x2d06800538d394c2u);
  EXPECT_NE(hashBytes(std::string_view("a")), hashBytes(std::string_view("b")));
  EXPECT_NE(hashBytes(std::string_view("a"), 1),
            hashBytes(std::string_view("a"), 2));
}
