//===- SemaphorePlanTest.cpp ----------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/SemaphorePlan.h"
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using isa::Queue;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(SemaphorePlan, ReuseNeedsTheSameWaiterAndDisjointLives) {
  SemaphorePlanProblem p{32,
                         {{Queue::Mx, 0, 1},
                          {Queue::Mx, 1, 2},
                          {Queue::Mx, 2, 3},
                          {Queue::Vx, 2, 3}}};
  auto plan = planSemaphores(p);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->semaphores, ElementsAre(0, 1, 0, 2));
  EXPECT_EQ(plan->used, 3u);
  EXPECT_TRUE(plan->verify(p).ok());
}

TEST(SemaphorePlan, TooManyNamesTheNumbers) {
  SemaphorePlanProblem p{1, {{Queue::Mx, 0, 1}, {Queue::Vx, 4, 5}}};
  auto plan = planSemaphores(p);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().message(),
            "2 semaphores are needed, 1 are available");
}

TEST(SemaphorePlan, CheckRefusesNonsense) {
  EXPECT_THAT((SemaphorePlanProblem{33, {}}.check().message()),
              HasSubstr("at most 32"));
  EXPECT_THAT((SemaphorePlanProblem{32, {{Queue::Ld, 2, 1}}}.check().message()),
              HasSubstr("lifetime 2 to 1"));
}

TEST(SemaphorePlan, VerifyFindsEachFault) {
  SemaphorePlanProblem p{
      2, {{Queue::Mx, 0, 1}, {Queue::Mx, 1, 2}, {Queue::Vx, 3, 3}}};
  auto verify = [&](std::vector<uint8_t> numbers) {
    return SemaphorePlanSolution{std::move(numbers), 2}.verify(p).message();
  };
  EXPECT_THAT(verify({0, 0, 1}), HasSubstr("two uses at once"));
  EXPECT_THAT(verify({0, 1, 0}), HasSubstr("two waiting queues"));
  EXPECT_THAT(verify({0, 1, 2}), HasSubstr("s2 does not exist"));
  EXPECT_THAT(verify({0}), HasSubstr("1 numbers for 3 requests"));
}

TEST(SemaphorePlan, RandomProblemsAreOptimalForEachQueue) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    SemaphorePlanProblem p{32, {}};
    for (uint64_t i = 0, n = random() % 24; i < n; ++i) {
      uint32_t begin = random() % 12;
      p.requests.push_back({Queue(random() % isa::numQueues), begin,
                            uint32_t(begin + random() % 6)});
    }
    uint32_t busiest = 0;
    for (unsigned queue = 0; queue < isa::numQueues; ++queue) {
      uint32_t most = 0;
      for (uint32_t point = 0; point < 18; ++point)
        most = std::max<uint32_t>(
            most,
            std::count_if(p.requests.begin(), p.requests.end(), [&](auto &r) {
              return r.waiter == Queue(queue) && r.begin <= point &&
                     point <= r.end;
            }));
      busiest += most;
    }
    auto plan = planSemaphores(p);
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(plan->verify(p).ok());
    EXPECT_EQ(plan->used, busiest);
  }
}
