//===- SoakTest.cpp - The soak in CI's size -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `soak --operations=1000000` is the same at length.
//
//===----------------------------------------------------------------------===//

#include "Soak.h"
#include <gtest/gtest.h>

using namespace tessera;

namespace {

TEST(SoakTest, NothingLostNothingLeaked) {
  for (uint64_t seed : {1, 2, 3}) {
    soak::Options options;
    options.operations = 3000;
    options.lossEvery = 1000;
    options.seed = seed;
    Result<soak::Counts> counts = soak::run(options);
    ASSERT_TRUE(counts) << "seed " << seed << ": " << counts.status().message();
    EXPECT_EQ(counts->submitted + counts->refused, options.operations);
    EXPECT_EQ(counts->losses, 3u);
    EXPECT_GT(counts->refused, 0u);
    EXPECT_GT(counts->faults, 200u);
    EXPECT_GT(counts->executions, 30u);
    EXPECT_GT(counts->hostCalls, 100u);
  }
}

TEST(SoakTest, NullDevice) {
  soak::Options options;
  options.simulator = false;
  options.operations = 10'000;
  Result<soak::Counts> counts = soak::run(options);
  ASSERT_TRUE(counts) << counts.status().message();
}

TEST(SoakTest, SeedDecidesEverything) {
  soak::Options options;
  options.operations = 1000;
  options.seed = 9;
  Result<soak::Counts> first = soak::run(options), second = soak::run(options);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->print(), second->print());
}

} // namespace
