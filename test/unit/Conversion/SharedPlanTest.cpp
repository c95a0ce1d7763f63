//===- SharedPlanTest.cpp -------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/SharedPlan.h"
#include "tessera/Support/Random.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using testing::ElementsAre;
using testing::Optional;

static SharedPlan plan(const MemoryPlanProblem &problem,
                       std::vector<uint32_t> accesses) {
  SharedPlan result = planShared(problem, accesses);
  Status status = result.verify(problem);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

TEST(SharedPlan, WhatIsAccessedOftenForItsLifeComesFirst) {
  // The long one has more accesses, but keeps its bytes five times as long.
  MemoryPlanProblem problem{"the arena",
                            300,
                            {{"long", 200, 64, 1, 0, 9},
                             {"a", 150, 64, 1, 0, 1},
                             {"b", 100, 64, 1, 1, 2},
                             {"c", 150, 64, 1, 2, 3}}};
  SharedPlan result = plan(problem, {3, 2, 2, 2});
  EXPECT_THAT(result.offsets, ElementsAre(std::nullopt, Optional(0u),
                                          Optional(192u), Optional(0u)));
  EXPECT_EQ(result.peakBytes, 292u);
}

TEST(SharedPlan, WhatDoesNotFitLeavesRoomForOthers) {
  MemoryPlanProblem problem{
      "the arena",
      128,
      {{"large", 129, 1, 1, 0, 1}, {"small", 128, 1, 1, 0, 2}}};
  EXPECT_THAT(plan(problem, {9, 2}).offsets,
              ElementsAre(std::nullopt, Optional(0u)));
  problem.capacity = 0;
  SharedPlan nothing = plan(problem, {9, 2});
  EXPECT_THAT(nothing.offsets, ElementsAre(std::nullopt, std::nullopt));
  EXPECT_EQ(nothing.peakBytes, 0u);
}

TEST(SharedPlan, RandomProblems) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    MemoryPlanProblem problem{"the arena", random.below(2000), {}};
    std::vector<uint32_t> accesses;
    for (uint64_t i = random.below(20); i-- > 0;) {
      auto begin = uint32_t(random.below(10));
      problem.buffers.push_back({"b", 1 + random.below(600),
                                 uint64_t(1) << random.below(8), 1, begin,
                                 begin + uint32_t(random.below(6))});
      accesses.push_back(1 + uint32_t(random.below(5)));
    }
    SharedPlan result = plan(problem, accesses);
    // What has no place is in the way of something wherever it could be put.
    for (size_t i = 0; i < result.offsets.size(); ++i) {
      if (result.offsets[i])
        continue;
      for (uint64_t at = 0; at + problem.buffers[i].bytes <= problem.capacity;
           at += problem.buffers[i].alignment) {
        SharedPlan other = result;
        other.offsets[i] = at;
        other.peakBytes = problem.capacity;
        EXPECT_FALSE(other.verify(problem).ok()) << round << ": " << i;
      }
    }
  }
}
