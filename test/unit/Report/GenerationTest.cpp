//===- GenerationTest.cpp - The figures of generated text -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Generation.h"
#include <gtest/gtest.h>

using namespace tessera::report;

/// A prompt of two calls, then two tokens more, on a clock of 2 GHz.
static GenerationReport sample() {
  GenerationReport report;
  report.clockGhz = 2;
  report.boundStepCycles = 500;
  report.calls = {{1, std::nullopt, 0, 900, 10, 1},
                  {1, 65, 0.5, 1100, 10, 1},
                  {1, 66, 0.25, 1000, 3000, 1000},
                  {1, 67, 0.75, 3000, 3000, 1000}};
  return report;
}

TEST(GenerationTest, FiguresFollowFromTheCalls) {
  GenerationReport report = sample();
  EXPECT_EQ(report.tokens(), (std::vector<int64_t>{65, 66, 67}));
  EXPECT_EQ(report.firstTokenCycles(), 2000u);
  EXPECT_EQ(report.decoding().calls, 2u);
  EXPECT_EQ(report.decoding().cycles, 4000u);
  EXPECT_EQ(report.decoding().dramBytes, 8000u);
  EXPECT_DOUBLE_EQ(report.microseconds(2000), 1.0);
  EXPECT_DOUBLE_EQ(report.tokensPerSecond(), 1e6); // 2 in 2 us.
  EXPECT_DOUBLE_EQ(report.bandwidthGbps(), 4.0);   // 8000 bytes in 2000 ns.
  EXPECT_DOUBLE_EQ(report.boundTokensPerSecond(), 4e6);
}

TEST(GenerationTest, OneTokenHasNoRate) {
  GenerationReport report = sample();
  report.calls.resize(2);
  EXPECT_EQ(report.decoding().calls, 0u);
  EXPECT_EQ(report.tokensPerSecond(), 0);
  EXPECT_NE(toJson(report).find("\"tokens_per_s\": null"), std::string::npos);
  EXPECT_EQ(formatSummary(report).find("tokens/s"), std::string::npos);
}

TEST(GenerationTest, AgreesIfEveryTokenDoes) {
  GenerationReport report = sample();
  EXPECT_TRUE(report.agrees());
  report.check = GenerationCheck{2, 0.1};
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(toJson(report).find("\"equal_tokens\": 2"), std::string::npos);
  report.check->equalTokens = 3;
  EXPECT_TRUE(report.agrees());
  EXPECT_NE(formatSummary(report).find("3 of 3 tokens are the host's"),
            std::string::npos);
}
