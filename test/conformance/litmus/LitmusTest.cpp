//===- LitmusTest.cpp - Litmus tests in CI's size -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `litmus --explore=10000` is the same at length.
//
//===----------------------------------------------------------------------===//

#include "Litmus.h"
#include <gtest/gtest.h>

using namespace tessera::litmus;

namespace {

/// A relaxed test needs more, to see its weak outcome.
constexpr uint64_t orderedSchedules = 150, relaxedSchedules = 700;

class LitmusTest : public ::testing::TestWithParam<Test> {};

TEST_P(LitmusTest, NothingForbiddenAndEverythingAllowedSeen) {
  uint64_t schedules =
      GetParam().weakAllowed() ? relaxedSchedules : orderedSchedules;
  Findings findings = explore(GetParam(), 1, schedules);
  EXPECT_FALSE(findings.violation)
      << "seed " << *findings.violation << ": " << findings.what;
  EXPECT_EQ(findings.schedules, schedules);
  if (GetParam().weakAllowed())
    EXPECT_GT(findings.weakSeen, 0u) << "the model would be vacuous";
}

TEST_P(LitmusTest, SeedIsTheSchedule) {
  for (uint64_t seed : {3, 4, 5}) {
    auto first = runSchedule(GetParam(), seed);
    auto second = runSchedule(GetParam(), seed);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, *second);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LitmusTest, ::testing::ValuesIn(tests()),
                         [](const ::testing::TestParamInfo<Test> &info) {
                           std::string name = info.param.name();
                           for (char &c : name)
                             if (!isalnum(c))
                               c = '_';
                           return name;
                         });

} // namespace
