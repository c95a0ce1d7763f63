//===- FuzzTest.cpp - The fuzzers in CI's size ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `fuzz --rounds=N` is the same at length.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include <gtest/gtest.h>

using namespace tessera::fuzz;

namespace {

class FuzzTest : public ::testing::TestWithParam<size_t> {};

TEST_P(FuzzTest, HoldsForAnyBytes) {
  const Fuzzer &fuzzer = fuzzers()[GetParam()];
  Outcome outcome = run(fuzzer, fuzzer.rounds, 1);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_EQ(outcome.rounds, fuzzer.rounds);
  EXPECT_GT(outcome.accepted, 0u) << "damage must not always be refused";
}

// Where a format changes its corpus is written again: `fuzz --write-corpus`.
TEST_P(FuzzTest, CorpusIsCurrent) {
  const Fuzzer &fuzzer = fuzzers()[GetParam()];
  if (fuzzer.name == "packet" || fuzzer.name == "object")
    EXPECT_EQ(corpus(fuzzer), fuzzer.seeds());
  EXPECT_EQ(corpus(fuzzer).size(), fuzzer.seeds().size());
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTest,
                         ::testing::Range<size_t>(0, fuzzers().size()));

} // namespace
