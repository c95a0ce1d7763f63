//===- MemoryPlanTest.cpp -------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/MemoryPlan.h"
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using testing::ElementsAre;
using testing::HasSubstr;

static MemoryPlanProblem
problem(uint64_t capacity, std::vector<MemoryPlanProblem::Buffer> buffers) {
  return {"SPM", capacity, std::move(buffers)};
}

TEST(MemoryPlan, BuffersThatLiveTogetherDoNotOverlap) {
  auto p = problem(1024, {{"a", 100, 64, 1, 0, 5}, {"b", 300, 64, 1, 5, 6}});
  auto plan = planMemory(p);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(plan->offsets, ElementsAre(320, 0));
  EXPECT_EQ(plan->peakBytes, 420u);
  EXPECT_TRUE(plan->verify(p).ok());
}

TEST(MemoryPlan, DisjointLifetimesShareMemory) {
  auto p = problem(128, {{"a", 128, 16, 1, 0, 4}, {"b", 128, 16, 1, 5, 9}});
  auto plan = planMemory(p);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(plan->offsets, ElementsAre(0, 0));
}

TEST(MemoryPlan, EverySlotIsAligned) {
  auto p = problem(256, {{"a", 40, 64, 3, 0, 0}});
  EXPECT_EQ(p.buffers[0].slotStride(), 64u);
  auto plan = planMemory(p);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->peakBytes, 168u);
}

TEST(MemoryPlan, GapsAreUsed) {
  // The hole that the short-lived buffer leaves takes the last one.
  auto p = problem(416, {{"long", 200, 1, 1, 0, 9},
                         {"early", 150, 1, 1, 0, 3},
                         {"late", 100, 1, 1, 4, 9},
                         {"small", 50, 1, 1, 5, 9}});
  auto plan = planMemory(p);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->peakBytes, 350u);
}

TEST(MemoryPlan, TooMuchNamesTheNumbers) {
  auto plan =
      planMemory(problem(127, {{"a", 64, 1, 1, 0, 1}, {"b", 64, 1, 1, 1, 2}}));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(plan.status().message(), "SPM needs 128 bytes, 127 are available");
}

TEST(MemoryPlan, CheckRefusesNonsense) {
  auto message = [](MemoryPlanProblem::Buffer buffer) {
    return problem(1024, {buffer}).check().message();
  };
  EXPECT_THAT(message({"a", 0, 1, 1, 0, 0}), HasSubstr("size 0"));
  EXPECT_THAT(message({"a", 1, 3, 1, 0, 0}), HasSubstr("alignment 3"));
  EXPECT_THAT(message({"a", 1, 1, 0, 0, 0}), HasSubstr("0 slots"));
  EXPECT_THAT(message({"a", 1, 1, 1, 2, 1}), HasSubstr("lifetime 2 to 1"));
}

TEST(MemoryPlan, VerifyFindsEachFault) {
  auto p = problem(256, {{"a", 64, 64, 1, 0, 1}, {"b", 64, 64, 1, 1, 2}});
  auto verify = [&](std::vector<uint64_t> offsets) {
    return MemoryPlanSolution{std::move(offsets), 256}.verify(p).message();
  };
  EXPECT_EQ(verify({0, 64}), "");
  EXPECT_THAT(verify({0, 0}), HasSubstr("'a' and 'b' overlap"));
  EXPECT_THAT(verify({0, 32}), HasSubstr("'b' is misaligned"));
  EXPECT_THAT(verify({0, 256}), HasSubstr("'b' is out of bounds"));
  EXPECT_THAT(verify({0}), HasSubstr("1 offsets for 2 buffers"));
}

TEST(DeviceAlignment, GrowsWithTheSizeUpToATurnOfTheChannels) {
  EXPECT_EQ(deviceAlignment(1), 64u);
  EXPECT_EQ(deviceAlignment(2047), 64u);
  EXPECT_EQ(deviceAlignment(2048), 128u);
  EXPECT_EQ(deviceAlignment(5000), 256u);
  EXPECT_EQ(deviceAlignment(uint64_t(1) << 40), 16384u);
}

TEST(MemoryPlan, RandomProblemsVerify) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 500; ++round) {
    auto p = problem(uint64_t(1) << 30, {});
    uint64_t sum = 0;
    for (uint64_t i = 0, n = 1 + random() % 20; i < n; ++i) {
      uint32_t begin = random() % 16;
      p.buffers.push_back({"b", 1 + random() % 500, uint64_t(1) << random() % 7,
                           uint32_t(1 + random() % 3), begin,
                           uint32_t(begin + random() % 8)});
      sum += p.buffers.back().totalBytes() + p.buffers.back().alignment;
    }
    auto plan = planMemory(p);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(plan->verify(p).ok()) << plan->verify(p).message();
    EXPECT_LE(plan->peakBytes, sum);
    // No plan can do with less than what lives at the busiest point.
    for (uint32_t point = 0; point < 24; ++point) {
      uint64_t live = 0;
      for (const auto &buffer : p.buffers)
        if (buffer.begin <= point && point <= buffer.end)
          live += buffer.totalBytes();
      EXPECT_GE(plan->peakBytes, live);
    }
  }
}
