//===- TilePlannerTest.cpp - Tests of the tile planner --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanText.h"
#include "TileCost.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace tessera;
using Kind = TileProblem::Dim::Kind;
using Memory = TileProblem::Memory;
using Traffic = TileProblem::Traffic;

namespace {

Architecture preset(const char *name) {
  Result<Architecture> arch = loadArchitecture(name);
  EXPECT_TRUE(arch.ok()) << arch.status().message();
  return *arch;
}

TileProblem::Extent along(unsigned dim, int64_t extent) {
  return {{{dim, 1}}, extent};
}

/// c[m, n] = sum of a[m, k] * b[k, n] in f32.
TileProblem matmul(int64_t m, int64_t n, int64_t k) {
  TileProblem problem;
  problem.name = "matmul";
  problem.dims = {
      {m, Kind::Free, false}, {n, Kind::Free, false}, {k, Kind::Free, true}};
  problem.buffers = {
      {"a", {along(0, m), along(2, k)}, 4, Memory::Spm, Traffic::Load},
      {"b", {along(2, k), along(1, n)}, 4, Memory::Spm, Traffic::Load},
      {"c", {along(0, m), along(1, n)}, 4, Memory::Acc, Traffic::Store}};
  TileProblem::Work work;
  work.matrix = true;
  work.m = {0};
  work.n = {1};
  work.k = {2};
  problem.work = {work};
  return problem;
}

TEST(TilePlanner, SmallProblemsNeedAtMostTheirOwnBytes) {
  Architecture arch = preset("server");
  TargetModel target(arch);
  Result<TilePlan> plan = planTiles(matmul(16, 16, 16), target);
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(plan->spmBytes, 2u * 2 * 16 * 16 * 4);
  EXPECT_LE(plan->accBytes, 2u * 16 * 16 * 4);
}

TEST(TilePlanner, LargeProblemsAreTiledToTheCapacity) {
  for (const char *name : {"tiny", "edge", "server"}) {
    Architecture arch = preset(name);
    TargetModel target(arch);
    TileProblem problem = matmul(4096, 4096, 4096);
    Result<TilePlan> plan = planTiles(problem, target);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(verifyPlan(problem, *plan, target).ok());
    EXPECT_LE(plan->spmBytes, target.spmBytes());
    EXPECT_LE(plan->accBytes, target.accBytes());
    // Tiles that leave the matrix engine partly idle would be a bad choice.
    EXPECT_GE(plan->tiles[1], int64_t(arch.matrix.cols)) << name;
    EXPECT_GE(plan->tiles[2], int64_t(arch.matrix.rows)) << name;
    EXPECT_GE(plan->depth, 2u);
  }
}

TEST(TilePlanner, SharedOperandsAreMulticastAndBufferedDeeply) {
  // 4 x 4 cores: the rows' tiles go to a row of four, the columns' to a column.
  // Four tiles of each fit.
  Architecture arch = preset("server");
  TargetModel target(arch);
  TileProblem problem = matmul(512, 512, 512);
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(verifyPlan(problem, *plan, target).ok());
  EXPECT_TRUE(plan->multicast);
  EXPECT_EQ(plan->depth, 4u);
  EXPECT_THAT(plan->groups, testing::ElementsAre(4, 4, 1));
  EXPECT_THAT(describePlan(problem, *plan),
              testing::HasSubstr("a multicast to 4; b multicast to 4"));
  // A core alone has nobody to share with.
  arch = preset("tiny");
  plan = planTiles(problem, TargetModel(arch));
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->multicast);
}

TEST(TilePlanner, SharedSramTakesLoadOffMemory) {
  // Little work for the bytes: as fast as these are moved. With half of them in
  // the shared SRAM, which is faster, memory moves the other half meanwhile.
  Architecture arch = preset("edge");
  TargetModel target(arch);
  TileProblem problem;
  problem.name = "sum";
  problem.dims = {{1 << 20, Kind::Free, false}};
  problem.buffers = {
      {"x", {along(0, 1 << 20)}, 4, Memory::Spm, Traffic::Load},
      {"y", {along(0, 1 << 20)}, 4, Memory::Spm, Traffic::Store}};
  TileProblem::Work work;
  work.points = {0};
  problem.work = {work};
  double both = planTiles(problem, target)->cycles;
  problem.buffers[1].shared = true;
  double one = planTiles(problem, target)->cycles;
  EXPECT_NEAR(one / both, 0.5, 0.05);
  // 8 MiB through two slices that move 64 bytes a cycle each.
  problem.buffers[0].shared = true;
  double none = planTiles(problem, target)->cycles;
  EXPECT_GE(none, (1 << 23) / 128);
  EXPECT_LE(none, (1 << 23) / 128 * 1.25);
}

TEST(TilePlanner, KindsOfDimensionsAreKept) {
  Architecture arch = preset("tiny");
  TargetModel target(arch);
  TileProblem problem = matmul(64, 64, 64);
  problem.dims[0].kind = Kind::Unit;
  problem.dims[2].kind = Kind::Whole;
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->tiles[0], 1);
  EXPECT_EQ(plan->tiles[2], 64);
}

TEST(TilePlanner, WindowsOverlap) {
  Architecture arch = preset("tiny");
  TargetModel target(arch);
  // One row of 1000 outputs, windows of 5 with stride 2: 2003 inputs.
  TileProblem problem;
  problem.name = "window";
  problem.dims = {{1000, Kind::Whole, false}, {5, Kind::Whole, true}};
  problem.buffers = {
      {"in", {{{{0, 2}, {1, 1}}, 2003}}, 4, Memory::Spm, Traffic::Load}};
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->spmBytes, target.allocatedBytes(2003 * 4));
}

TEST(TilePlanner, SingleBuffersWhereTwoDoNotFit) {
  Architecture arch = preset("tiny");
  TargetModel target(arch);
  TileProblem problem;
  problem.name = "rows";
  problem.dims = {{2, Kind::Free, false}, {12000, Kind::Whole, false}};
  problem.buffers = {
      {"in", {along(0, 2), along(1, 12000)}, 4, Memory::Spm, Traffic::Load}};
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->tiles[0], 1);
  EXPECT_EQ(plan->depth, 1u);
}

TEST(TilePlanner, WhatCannotFitIsAnErrorWithBytes) {
  Architecture arch = preset("tiny");
  TargetModel target(arch);
  TileProblem problem = matmul(8, 8, 1 << 20);
  problem.name = "fc1";
  problem.dims[2].kind = Kind::Whole;
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::ResourceExhausted);
  EXPECT_THAT(plan.status().message(), testing::HasSubstr("fc1"));
  EXPECT_THAT(plan.status().message(),
              testing::HasSubstr("8388608 bytes of SPM"));
  EXPECT_THAT(plan.status().message(), testing::HasSubstr("65536"));
}

TEST(TilePlanner, PrimeExtentsGetLargeTiles) {
  for (const char *name : {"tiny", "edge", "server"}) {
    Architecture arch = preset(name);
    TargetModel target(arch);
    TileProblem problem = matmul(127, 509, 1021);
    Result<TilePlan> plan = planTiles(problem, target);
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(verifyPlan(problem, *plan, target).ok());
    for (unsigned dim : {0u, 1u, 2u})
      EXPECT_GE(plan->tiles[dim], 8) << name << ", loop " << dim;
  }
}

TEST(TilePlanner, TheRestOfAReductionHasItsOwnBuffers) {
  Architecture arch = preset("edge");
  TargetModel target(arch);
  TileProblem problem = matmul(64, 64, 100);
  TileCost cost(problem, target);
  TilePlan plan;
  plan.grid = {1, 1, 1};
  plan.order = {0, 1, 2};
  plan.tiles = {64, 64, 50};
  cost.evaluate(plan);
  EXPECT_EQ(plan.spmBytes, 2u * 2 * 64 * 50 * 4);
  plan.tiles[2] = 60; // And 40 are left.
  cost.evaluate(plan);
  EXPECT_EQ(plan.spmBytes, 2u * 2 * 64 * (60 + 40) * 4);
}

/// A loop over 100 keys by 32: x, made from nothing, has a place for the tiles
/// and one for the rest; what is loaded one more, for the last whole tile,
/// which comes after the loop.
TEST(TilePlanner, RotatedReductionsHaveBuffersForTheirEnds) {
  Architecture arch = preset("edge");
  TargetModel target(arch);
  TileProblem problem;
  problem.name = "keys";
  problem.dims = {{1, Kind::Free, false}, {100, Kind::Free, true}};
  problem.buffers = {{"x", {along(1, 100)}, 64, Memory::Spm, Traffic::None},
                     {"k", {along(1, 100)}, 64, Memory::Spm, Traffic::Load}};
  TilePlan plan;
  plan.tiles = {1, 32};
  plan.grid = {1, 1};
  plan.order = {0, 1};
  plan.depth = 2;
  for (bool rotated : {false, true}) {
    problem.dims[1].rotated = rotated;
    TileCost(problem, target).evaluate(plan);
    // x once each, as one core fills it once per row; k twice each.
    uint64_t tile = 32 * 64, rest = 4 * 64;
    EXPECT_EQ(plan.spmBytes,
              tile + rest + 2 * (tile + rest) + (rotated ? 2 * tile : 0));
  }
  // Two tiles are the first and the last one.
  plan.tiles = {1, 50};
  TileCost(problem, target).evaluate(plan);
  EXPECT_EQ(plan.spmBytes, 50u * 64 + 2 * 2 * 50 * 64);
}

TEST(TilePlanner, SizesThatMustDivideDoSo) {
  Architecture arch = preset("tiny");
  TargetModel target(arch);
  TileProblem problem = matmul(127, 127, 254);
  problem.dims[2].divides = true;
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(254 % plan->tiles[2], 0);
  plan->tiles[2] = 100;
  EXPECT_FALSE(verifyPlan(problem, *plan, target).ok());
}

TEST(TilePlanner, VerifyRefusesWrongMappings) {
  Architecture arch = preset("server");
  TargetModel target(arch);
  TileProblem problem = matmul(1024, 1024, 1024);
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  for (int change = 0; change < 4; ++change) {
    TilePlan wrong = *plan;
    if (change == 0)
      wrong.order = {2, 0, 1}; // A reduction outside.
    if (change == 1)
      wrong.order = {0, 0, 2};
    if (change == 2)
      wrong.grid = {1, 1, 16}; // Cores share a reduction.
    if (change == 3)
      wrong.grid = {7, 2, 1}; // No rectangle of the mesh.
    EXPECT_FALSE(verifyPlan(problem, wrong, target).ok()) << change;
  }
}

TEST(TilePlanner, CoresShareTwoLoopsWhereThatSavesTraffic) {
  Architecture arch = preset("server");
  TargetModel target(arch);
  TileProblem problem = matmul(2048, 2048, 2048);
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->grid[0] * plan->grid[1], 16);
}

TEST(TilePlanner, AllCoresHaveWork) {
  for (const char *name : {"edge", "server"}) {
    Architecture arch = preset(name);
    TargetModel target(arch);
    TileProblem problem = matmul(4096, 4096, 4096);
    Result<TilePlan> plan = planTiles(problem, target);
    ASSERT_TRUE(plan.ok());
    int64_t cores = 1;
    for (unsigned dim : {0u, 1u}) {
      cores *= plan->grid[dim];
      int64_t trips = (4096 + plan->tiles[dim] - 1) / plan->tiles[dim];
      EXPECT_GE(trips, plan->grid[dim]) << name;
    }
    EXPECT_EQ(cores, int64_t(arch.cores.count)) << name;
  }
}

TEST(TilePlanner, LoopsNestNoDeeperThanTheHardwareAllows) {
  Architecture arch = preset("tiny");
  TargetModel target(arch);
  TileProblem problem;
  problem.name = "deep";
  problem.buffers = {{"in", {}, 4, Memory::Spm, Traffic::Load}};
  for (unsigned dim = 0; dim < 9; ++dim) {
    problem.dims.push_back({4, Kind::Free, false});
    problem.buffers[0].extents.push_back(along(dim, 4));
  }
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  unsigned loops = 0;
  for (unsigned dim = 0; dim < 9; ++dim)
    loops += plan->isTiled(problem, dim);
  EXPECT_GE(loops, 1u);
  EXPECT_LE(loops, 6u);
}

TEST(TilePlanner, SumsKeepTheirOrder) {
  // A convolution's sum over 3 x 3 positions and 64 channels.
  TileProblem problem;
  problem.dims = {
      {3, Kind::Free, true}, {3, Kind::Free, true}, {64, Kind::Free, true}};
  TileProblem::Work work;
  work.matrix = true;
  work.k = {0, 1, 2};
  problem.work = {work};
  EXPECT_TRUE(problem.keepsOrder({3, 3, 64}));
  EXPECT_TRUE(problem.keepsOrder({1, 3, 64}));
  EXPECT_TRUE(problem.keepsOrder({2, 3, 64})); // The third row comes last.
  EXPECT_TRUE(problem.keepsOrder({1, 1, 32}));
  // Channels 0 to 31 of all positions would come first.
  EXPECT_FALSE(problem.keepsOrder({3, 3, 32}));
  EXPECT_FALSE(problem.keepsOrder({1, 3, 32}));
  EXPECT_FALSE(problem.keepsOrder({3, 1, 64}));
  // What is left of each position's channels would come last of all.
  EXPECT_FALSE(problem.keepsOrder({1, 1, 48}));
  problem.work[0].matrix = false;
  EXPECT_TRUE(problem.keepsOrder({3, 3, 32}));
}

TEST(TilePlanner, PlansOfConvolutionsKeepTheOrder) {
  Architecture arch = preset("tiny");
  TargetModel target(arch);
  // 14 x 14 positions, 256 channels to 64: the input's rows alone fill the SPM.
  TileProblem problem;
  problem.name = "convolution";
  problem.dims = {{14, Kind::Free, false}, {14, Kind::Free, false},
                  {64, Kind::Free, false}, {3, Kind::Free, true},
                  {3, Kind::Free, true},   {256, Kind::Free, true}};
  TileProblem::Extent y{{{0, 1}, {3, 1}}, 16}, x{{{1, 1}, {4, 1}}, 16};
  problem.buffers = {
      {"a", {y, x, along(5, 256)}, 4, Memory::Spm, Traffic::Load},
      {"b",
       {along(2, 64), along(3, 3), along(4, 3), along(5, 256)},
       4,
       Memory::Spm,
       Traffic::Load},
      {"c",
       {along(0, 14), along(1, 14), along(2, 64)},
       4,
       Memory::Acc,
       Traffic::Store}};
  TileProblem::Work work;
  work.matrix = true;
  work.m = {0, 1};
  work.n = {2};
  work.k = {3, 4, 5};
  problem.work = {work};
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(verifyPlan(problem, *plan, target).ok());
  EXPECT_TRUE(problem.keepsOrder(plan->tiles));
  TilePlan wrong = *plan;
  wrong.tiles[3] = wrong.tiles[4] = 3;
  wrong.tiles[5] = 128;
  Status status = verifyPlan(problem, wrong, target);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), testing::HasSubstr("order"));
}

TEST(TargetModel, RowsAvoidTheSameBanks) {
  // edge's 32 banks of 32 bytes repeat after 1024.
  Architecture arch = preset("edge");
  TargetModel target(arch);
  EXPECT_EQ(target.rowPitch(64, 2), 64u);
  EXPECT_EQ(target.rowPitch(192, 2), 192u);
  EXPECT_EQ(target.rowPitch(128, 2), 128u); // Eight places.
  EXPECT_EQ(target.rowPitch(256, 2), 320u); // Four.
  EXPECT_EQ(target.rowPitch(1024, 2), 1088u);
  EXPECT_EQ(target.rowPitch(4096, 2), 4160u);
}

TEST(TargetModel, RowsStepAsWideAsWhatIsRead) {
  // server's 128 banks of 32 bytes repeat after 4096; of a row the engine reads
  // 128 elements at a time: 256 bytes of bf16, 512 of f32.
  TargetModel target(preset("server"));
  EXPECT_EQ(target.rowPitch(512, 2), 512u);
  EXPECT_EQ(target.rowPitch(4096, 2), 4352u);
  EXPECT_EQ(target.rowPitch(4160, 2), 4352u);
  EXPECT_EQ(target.rowPitch(4096, 4), 4608u);
  EXPECT_EQ(target.rowPitch(2048, 2), 2112u); // Two places.
  // tiny's 16 banks of 16 bytes have four places of 64 bytes.
  TargetModel few(preset("tiny"));
  EXPECT_EQ(few.rowPitch(256, 4), 320u);
}

TEST(NetworkLoad, AHashSpreadsColumns) {
  // The same columns of 256 bytes come from all routers: each of 8 cores on a
  // side of the middle gets half of its bursts across its 4 links.
  NetworkLoad network(preset("server"));
  const std::vector<double> &flits =
      network.linkFlits({8192, 256, 32, 16, 1}, 16, 1, {});
  EXPECT_GT(*std::max_element(flits.begin(), flits.end()), 1);
}

TEST(NetworkLoad, NearMemoryNeedsNoLink) {
  // 4 x 4 routers, channel i at router i mod 16, 256 bytes each: a column of
  // 256 bytes of a matrix with rows of 8 KiB lies at one router.
  Architecture arch = preset("server");
  arch.dram.channelHash = ChannelHash::None;
  NetworkLoad network(arch);
  ASSERT_TRUE(network.hasLinks());
  NetworkLoad::Share columns{8192, 256, 32, 16, 1};
  for (double flits : network.linkFlits(columns, 16, 1, {}))
    EXPECT_EQ(flits, 0);
  // Columns of 512 bytes lie at routers 2 p and 2 p + 1. Core 0 has p = 0; core
  // 1, with p = 1, is next to router 2 and asks router 3 over the same link:
  // for each burst it sends 1 flit over link 1 -> 2, and half of them on over 2
  // -> 3.
  NetworkLoad::Share wide{8192, 512, 16, 16, 1};
  const std::vector<double> &far = network.linkFlits(wide, 16, 1, {});
  EXPECT_EQ(*std::max_element(far.begin(), far.end()), 3);
  // In steps of two, core c has the place c / 2 + c mod 2 * 8, whose columns
  // lie at routers c and its neighbour: half of the requests and of the answers
  // go over the link between the two, in each direction.
  const std::vector<double> &near = network.linkFlits(wide, 16, 2, {});
  EXPECT_EQ(*std::max_element(near.begin(), near.end()), 1);
}

TEST(NetworkLoad, RowsThatTurnReachAllMemory) {
  // Rows of 256 bytes more go round all channels. Each of 8 cores on one side
  // of the middle asks for half of its bursts across it, over 4 links, and is
  // answered in the other direction, while as many answers come to the other
  // side's requests.
  Architecture arch = preset("server");
  NetworkLoad network(arch);
  NetworkLoad::Share share{8448, 256, 33, 1, 1};
  const std::vector<double> &flits = network.linkFlits(share, 16, 1, {});
  EXPECT_DOUBLE_EQ(*std::max_element(flits.begin(), flits.end()), 2);
}

TEST(NetworkLoad, AMulticastTakesEachLinkOnce) {
  // A burst from anywhere to all 16 cores goes along a row, 3 links, and from
  // there along four columns, 3 links each. Its request comes from one of the
  // cores, on average 1.25 links along each axis away.
  Architecture arch = preset("server");
  NetworkLoad network(arch);
  NetworkLoad::Share share{8448, 256, 33, 1, 1};
  const std::vector<double> &all = network.linkFlits(share, 16, 1, {16, 1});
  EXPECT_DOUBLE_EQ(std::accumulate(all.begin(), all.end(), 0.0), 15 + 2.5);
  // Four bursts to a row each: along the column to the row, which is 1.25 links
  // away, and along it, 3 links; by x first, so that the ways to the four cores
  // fork in the memory's row: 3 links there and 1.25 in each of four columns.
  const std::vector<double> &rows = network.linkFlits(share, 16, 1, {4, 1});
  EXPECT_DOUBLE_EQ(std::accumulate(rows.begin(), rows.end(), 0.0),
                   4 * (3 + 4 * 1.25 + 2.5));
}

TEST(NetworkLoad, CrossbarsHaveNoLinks) {
  Architecture arch = preset("tpuv4like");
  EXPECT_FALSE(NetworkLoad(arch).hasLinks());
}

TEST(TilePlanner, CheckRefusesBadIndices) {
  TileProblem problem = matmul(8, 8, 8);
  problem.buffers[0].extents[0].terms[0].dim = 7;
  EXPECT_FALSE(problem.check().ok());
  problem = matmul(8, 8, 8);
  problem.dims[0].extent = 0;
  EXPECT_FALSE(problem.check().ok());
}

TEST(TilePlanner, VerifyRefusesOtherPlans) {
  Architecture arch = preset("tiny");
  TargetModel target(arch);
  TileProblem problem = matmul(512, 512, 512);
  Result<TilePlan> plan = planTiles(problem, target);
  ASSERT_TRUE(plan.ok());
  TilePlan other = *plan;
  other.tiles[0] = 3;
  EXPECT_FALSE(verifyPlan(problem, other, target).ok());
  other = *plan;
  other.tiles = {512, 512, 512};
  EXPECT_FALSE(verifyPlan(problem, other, target).ok());
  other = *plan;
  other.spmBytes -= 64;
  EXPECT_FALSE(verifyPlan(problem, other, target).ok());
}

TEST(TilePlanner, RandomProblemsGiveLegalPlansOrErrors) {
  std::mt19937 random(7);
  auto below = [&](uint32_t n) { return random() % n; };
  for (int round = 0; round < 300; ++round) {
    Architecture arch = preset(round % 2 ? "tiny" : "edge");
    TargetModel target(arch, 1 + below(2));
    TileProblem problem =
        matmul(1 + below(500), 1 + below(500), 1 + below(500));
    for (TileProblem::Dim &dim : problem.dims)
      dim.kind = Kind(below(3));
    Result<TilePlan> plan = planTiles(problem, target);
    if (plan.ok())
      EXPECT_TRUE(verifyPlan(problem, *plan, target).ok());
    else
      EXPECT_EQ(plan.status().code(), StatusCode::ResourceExhausted);
    // The same question has the same answer.
    Result<TilePlan> again = planTiles(problem, target);
    ASSERT_EQ(again.ok(), plan.ok());
    if (plan.ok())
      EXPECT_EQ(again->tiles, plan->tiles);
  }
}

} // namespace
