//===- BoundsTest.cpp - Floors of a run -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Report/Bounds.h"
#include "tessera/Support/File.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::report;
using testing::HasSubstr;

static OperatorRecord contraction(NumericFormat format, uint64_t m, uint64_t k,
                                  uint64_t n, uint64_t batch = 1) {
  OperatorRecord op;
  op.name = "op";
  op.kind = batch > 1 ? "conv" : "matmul";
  op.format = format;
  op.m = m;
  op.k = k;
  op.n = n;
  op.batch = batch;
  return op;
}

static OperatorRecord elementwise(uint64_t elements, uint32_t alu,
                                  uint32_t sfu) {
  OperatorRecord op;
  op.name = "elementwise";
  op.kind = "elementwise";
  op.elements = elements;
  op.aluOps = alu;
  op.sfuOps = sfu;
  return op;
}

/// The operators of the example in docs/report.md.
static std::vector<OperatorRecord> exampleOperators() {
  OperatorRecord either = contraction(NumericFormat::F32, 1, 128, 64);
  either.elements = 128 * 64;
  either.aluOps = 1;
  either.eitherEngine = true;
  either.producers = {0};
  OperatorRecord softmax = elementwise(1280, 3, 1);
  softmax.producers = {0};
  return {contraction(NumericFormat::BF16, 64, 100, 20), softmax, either};
}

TEST(Bounds, ExampleOfTheDocumentation) {
  Architecture tiny = *loadArchitecture("tiny");
  Result<Bounds> bounds = computeBounds(exampleOperators(), 60000, tiny);
  ASSERT_TRUE(bounds.ok()) << bounds.status().message();
  EXPECT_DOUBLE_EQ(bounds->bound.matrix, 2080);
  EXPECT_DOUBLE_EQ(bounds->bound.vector, 640);
  EXPECT_DOUBLE_EQ(bounds->bound.either, 1024);
  EXPECT_NEAR(bounds->bound.dram, 3271.8, 0.05);
  EXPECT_EQ(bounds->bound.limiter(), Limiter::Dram);
  EXPECT_EQ(bounds->bound.cycles(), bounds->bound.dram);
  EXPECT_DOUBLE_EQ(bounds->roofline.matrix, 2000);
  EXPECT_DOUBLE_EQ(bounds->roofline.either, 512);
  EXPECT_DOUBLE_EQ(bounds->layerwise, 3232);
  EXPECT_DOUBLE_EQ(bounds->criticalPath, 2743);

  std::string page = *readTextFile(TESSERA_SOURCE_DIR "/docs/report.md");
  for (const char *figure :
       {"M = 2,080, V = 640, (2,080 + 640 + 1,024) / 2 = 1,872",
        "memory takes 3,271.8 cycles: bound 3,272 cycles, limited by `dram`",
        "2,080 + 640 + 1,024/2 = 3,232", "2,080 + 15 + 640 + 8 = 2,743",
        "128,000 / 64 = 2,000"})
    EXPECT_NE(page.find(figure), std::string::npos) << figure;
}

TEST(Bounds, MatrixBlocks) {
  MatrixConfig matrix = loadArchitecture("edge")->matrix; // 32×32
  // Twice as many rows of i8 fit: K = 64 is one block.
  EXPECT_EQ(
      matrixBlockCycles(contraction(NumericFormat::I8, 100, 64, 32), matrix),
      100);
  EXPECT_EQ(
      matrixBlockCycles(contraction(NumericFormat::BF16, 100, 64, 32), matrix),
      200);
  // f32 streams for four cycles a row, and loads for two.
  EXPECT_EQ(
      matrixBlockCycles(contraction(NumericFormat::F32, 100, 64, 32), matrix),
      800);
  // Too few rows to hide the load, in either orientation.
  EXPECT_EQ(
      matrixBlockCycles(contraction(NumericFormat::BF16, 1, 32, 1), matrix),
      32);
  EXPECT_EQ(
      matrixBlockCycles(contraction(NumericFormat::F32, 1, 32, 1), matrix), 64);
  // The other operand stays: one column of blocks instead of four.
  EXPECT_EQ(
      matrixBlockCycles(contraction(NumericFormat::BF16, 32, 32, 128), matrix),
      128);
  EXPECT_EQ(matrixBlockCycles(elementwise(10, 1, 0), matrix), 0);
}

TEST(Bounds, LoadUsesTheShorterSide) {
  MatrixConfig matrix = loadArchitecture("edge")->matrix;
  matrix.cols = 16;
  EXPECT_EQ(
      matrixBlockCycles(contraction(NumericFormat::BF16, 1, 32, 1), matrix),
      16);
}

TEST(Bounds, GroupsOfAConvolutionShareBlocks) {
  MatrixConfig matrix = loadArchitecture("edge")->matrix;
  // 8 groups of 9×4: three fit along a diagonal of 32 rows, ⌈8/3⌉ blocks.
  OperatorRecord grouped = contraction(NumericFormat::BF16, 100, 9, 4, 8);
  EXPECT_EQ(matrixBlockCycles(grouped, matrix), 300);
  grouped.kind = "matmul";
  // ⌈100/32⌉ blocks of 32 cycles beat one of 100 nowhere.
  EXPECT_EQ(matrixBlockCycles(grouped, matrix), 800);
}

TEST(Bounds, WorkIsSpreadOverTheEngines) {
  Architecture server = *loadArchitecture("server");
  std::vector<OperatorRecord> ops = {
      contraction(NumericFormat::BF16, 4096, 4096, 4096),
      elementwise(1 << 20, 4, 2)};
  Bounds bounds = *computeBounds(ops, 0, server);
  EXPECT_DOUBLE_EQ(bounds.bound.matrix, 32.0 * 32 * 4096 / 16);
  EXPECT_DOUBLE_EQ(bounds.roofline.matrix, bounds.bound.matrix);
  // Four special cycles against two arithmetic ones.
  EXPECT_DOUBLE_EQ(bounds.bound.vector, double(1 << 20) / 256 * 4 / 16);
  EXPECT_EQ(bounds.bound.limiter(), Limiter::Matrix);
}

TEST(Bounds, LimiterIsTheLargestTerm) {
  EXPECT_EQ((Floor{0, 0, 0, 0}).limiter(), Limiter::None);
  EXPECT_EQ((Floor{5, 2, 1, 4}).limiter(), Limiter::Matrix);
  EXPECT_EQ((Floor{2, 5, 1, 4}).limiter(), Limiter::Vector);
  EXPECT_EQ((Floor{4, 4, 4, 5}).limiter(), Limiter::MatrixAndVector);
  EXPECT_EQ((Floor{4, 4, 4, 5}).cycles(), 6);
  EXPECT_EQ((Floor{2, 2, 2, 5}).limiter(), Limiter::Dram);
}

TEST(Bounds, CriticalPathFollowsTheLongestChain) {
  Architecture tiny = *loadArchitecture("tiny");
  double latency = tiny.vector.latency;
  OperatorRecord op = elementwise(80, 1, 0); // 10 cycles
  std::vector<OperatorRecord> ops = {op, op, op, op};
  EXPECT_DOUBLE_EQ(computeBounds(ops, 0, tiny)->criticalPath, 10 + latency)
      << "nothing waits for anything";
  ops[2].producers = {0};
  ops[3].producers = {1, 2};
  EXPECT_DOUBLE_EQ(computeBounds(ops, 0, tiny)->criticalPath,
                   3 * (10 + latency));
  ops[1].elements = 8000;
  EXPECT_DOUBLE_EQ(computeBounds(ops, 0, tiny)->criticalPath,
                   1000 + 10 + 2 * latency);
}

TEST(Bounds, RefreshLowersTheCeilingOnlyWhenAllBanksStop) {
  Architecture arch = *loadArchitecture("tpuv4like");
  double allBanks = dramCeilingBytesPerCycle(arch);
  EXPECT_NEAR(allBanks, 614.4 * (1 - 421.0 / 4682), 1e-6);
  arch.dram.refresh = RefreshMode::PerBank;
  EXPECT_NEAR(dramCeilingBytesPerCycle(arch), 614.4, 1e-6);
}

TEST(Bounds, FormatsTheEngineLacks) {
  Architecture gemmini = *loadArchitecture("gemmini16");
  OperatorRecord op = contraction(NumericFormat::F32, 8, 8, 8);
  op.name = "fc1";
  EXPECT_EQ(computeBounds({&op, 1}, 0, gemmini).status().message(),
            "fc1: the matrix engine of gemmini16 has no f32");
  op.eitherEngine = true;
  op.elements = 512;
  op.aluOps = 1;
  EXPECT_EQ(computeBounds({&op, 1}, 0, gemmini)->bound.vector, 32);
}
