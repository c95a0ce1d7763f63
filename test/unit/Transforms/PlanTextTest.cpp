//===- PlanTextTest.cpp - Tests of plans in words -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanText.h"
#include "TileCost.h"
#include "tessera/Transforms/PlanBook.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using testing::HasSubstr;
using Memory = TileProblem::Memory;
using Traffic = TileProblem::Traffic;

namespace {

TileProblem::Extent along(unsigned dim, int64_t extent) {
  return {{{dim, 1}}, extent};
}

/// c[b, m, n] = sum of a[b, m, k] * b[b, k, n] in bf16.
TileProblem product(int64_t batch, int64_t m, int64_t n, int64_t k) {
  using Kind = TileProblem::Dim::Kind;
  TileProblem problem;
  problem.name = "product";
  problem.dims = {{batch, Kind::Unit, false},
                  {m, Kind::Free, false},
                  {n, Kind::Free, false},
                  {k, Kind::Free, true}};
  problem.buffers = {{"a",
                      {along(0, batch), along(1, m), along(3, k)},
                      2,
                      Memory::Spm,
                      Traffic::Load},
                     {"b",
                      {along(0, batch), along(3, k), along(2, n)},
                      2,
                      Memory::Spm,
                      Traffic::Load},
                     {"c",
                      {along(0, batch), along(1, m), along(2, n)},
                      4,
                      Memory::Acc,
                      Traffic::Store}};
  TileProblem::Work work;
  work.matrix = true;
  work.format = NumericFormat::BF16;
  work.m = {1};
  work.n = {2};
  work.k = {3};
  problem.work = {work};
  return problem;
}

std::string errorOf(const TileProblem &problem, std::string_view text) {
  return parsePlan(problem, text).status().message();
}

} // namespace

TEST(PlanText, SaysWhatItReads) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int64_t> size(1, 300);
  for (const char *name : {"tiny", "edge", "server"}) {
    Architecture arch = *loadArchitecture(name);
    TargetModel target(arch);
    for (int round = 0; round < 10; ++round) {
      TileProblem problem =
          product(round % 3 ? 1 : 4, size(random), size(random), size(random));
      auto plans = rankTiles(problem, target, 12);
      ASSERT_TRUE(plans.ok());
      for (const TilePlan &plan : *plans) {
        std::string text = describePlan(problem, plan);
        Result<TilePlan> read = parsePlan(problem, text);
        ASSERT_TRUE(read.ok()) << text << ": " << read.status().message();
        ASSERT_TRUE(completePlan(problem, *read, target).ok()) << text;
        EXPECT_EQ(describePlan(problem, *read), text);
        EXPECT_EQ(read->tiles, plan.tiles) << text;
        EXPECT_EQ(read->grid, plan.grid) << text;
        EXPECT_EQ(read->spmBytes, plan.spmBytes) << text;
        EXPECT_EQ(read->multicast, plan.multicast) << text;
        EXPECT_EQ(read->pieces, plan.pieces) << text;
      }
    }
  }
}

TEST(PlanText, SaysWhatIsWrong) {
  TileProblem problem = product(1, 64, 32, 16);
  EXPECT_EQ(errorOf(problem, "m 16/64, n 32, k 16; 2 buffers"), "");
  EXPECT_EQ(errorOf(problem,
                    "n 32, m 16/64, k 16; cores 2 along m in steps of "
                    "2; operand 0 multicast to 2; first tiles in pieces; 3 "
                    "buffers, 1 for panels, 1 accumulator"),
            "");
  EXPECT_THAT(errorOf(problem, ""), HasSubstr("none of the loops m, n, k"));
  EXPECT_THAT(errorOf(problem, "x 16/64, n 32, k 16; 2 buffers"),
              HasSubstr("'x' is none of the loops m, n, k"));
  EXPECT_THAT(errorOf(problem, "m 16/64, k 16; 2 buffers"),
              HasSubstr("3 loops are expected"));
  EXPECT_THAT(errorOf(problem, "m 16/64, m 64, k 16; 2 buffers"),
              HasSubstr("m comes twice"));
  EXPECT_THAT(errorOf(problem, "m 16/128, n 32, k 16; 2 buffers"),
              HasSubstr("loop m has 64 iterations, not 128"));
  EXPECT_THAT(errorOf(problem, "m 0/64, n 32, k 16; 2 buffers"),
              HasSubstr("a number from 1 on"));
  EXPECT_THAT(errorOf(problem, "m 16/64, n 32, k 16; 2 boxes"),
              HasSubstr("' buffers' is expected"));
  EXPECT_THAT(errorOf(problem, "m 16/64, n 32, k 16; 2 buffers, 2 cups"),
              HasSubstr("is expected at ' cups'"));
  EXPECT_THAT(errorOf(problem, "m 16/64, n 32, k 16; 2 buffers; more"),
              HasSubstr("'; more' is left over"));
  EXPECT_THAT(errorOf(problem, "m 16/64, n 32, k 16; cores 2 of m; 2 buffers"),
              HasSubstr("' along ' is expected"));
}

TEST(PlanText, PlansThatDoNotSuitAreRefused) {
  Architecture arch = *loadArchitecture("tiny");
  TargetModel target(arch);
  TileProblem problem = product(1, 4096, 4096, 4096);
  for (const char *text :
       {"m 4096, n 4096, k 4096; 2 buffers",          // Beyond the memories.
        "m 8192/4096, n 8/4096, k 8/4096; 2 buffers", // Beyond the loop.
        "m 8/4096, n 8/4096, k 8/4096; cores 3 along m; 2 buffers",
        "m 8/4096, n 8/4096, k 8/4096; 1 buffer, 2 for panels"}) {
    Result<TilePlan> plan = parsePlan(problem, text);
    ASSERT_TRUE(plan.ok()) << text;
    EXPECT_FALSE(completePlan(problem, *plan, target).ok()) << text;
  }
}

TEST(PlanText, HashIsOfWhatPlansDependOn) {
  Architecture edge = *loadArchitecture("edge"), other = edge;
  other.spm.bytes *= 2;
  TileProblem problem = product(1, 64, 32, 16), renamed = problem,
              longer = product(1, 64, 32, 17);
  renamed.name = "another";
  EXPECT_EQ(hashProblems({&problem}, edge), hashProblems({&renamed}, edge));
  EXPECT_NE(hashProblems({&problem}, edge), hashProblems({&longer}, edge));
  EXPECT_NE(hashProblems({&problem}, edge), hashProblems({&problem}, other));
  EXPECT_NE(hashProblems({&problem}, edge),
            hashProblems({&problem, &problem}, edge));
}

TEST(PlanBook, KeepsPlansAndRemarks) {
  const char *text = "tessera plans 1\n"
                     "# first, second on edge\n"
                     "00000000000000ff m 16/64, k 16; 2 buffers\n"
                     "8000000000000001 d0 4; 1 buffer | d0 8; 1 buffer\n";
  Result<PlanBook> book = PlanBook::parse(text);
  ASSERT_TRUE(book.ok()) << book.status().message();
  EXPECT_EQ(book->print(), text);
  ASSERT_NE(book->find(0xff), nullptr);
  EXPECT_EQ(*book->find(0xff), "m 16/64, k 16; 2 buffers");
  EXPECT_EQ(book->find(1), nullptr);
  book->set(1, "m 1; 1 buffer", "");
  EXPECT_EQ(book->size(), 3u);
  EXPECT_THAT(book->print(), HasSubstr("\n0000000000000001 m 1; 1 buffer\n"));
}

TEST(PlanBook, BadLinesAreNamed) {
  auto error = [](std::string text) {
    return PlanBook::parse(text).status().message();
  };
  EXPECT_THAT(error(""), HasSubstr("line 1: 'tessera plans 1' is expected"));
  EXPECT_THAT(error("tessera plans 2\n"), HasSubstr("line 1"));
  EXPECT_THAT(error("tessera plans 1\nff m 1"), HasSubstr("line 2: a hash"));
  EXPECT_THAT(error("tessera plans 1\n00000000000000ff"), HasSubstr("line 2"));
  EXPECT_THAT(error("tessera plans 1\n00000000000000fx m 1"),
              HasSubstr("line 2"));
  EXPECT_THAT(error("tessera plans 1\n00000000000000ff m 1\n\n"
                    "00000000000000ff m 2\n"),
              HasSubstr("line 4: 00000000000000ff has a plan already"));
}

// No text makes the readers crash, and what is accepted comes back.
TEST(PlanBook, DamagedTextIsReadOrRefused) {
  const std::string text =
      "tessera plans 1\n# nodes\n00000000000000ff n 32, m 16/64, k 16; cores 2 "
      "along m in steps of 2; operand 0 multicast to 2; 3 buffers, 1 for "
      "panels, 1 accumulator\n";
  TileProblem problem = product(1, 64, 32, 16);
  Architecture arch = *loadArchitecture("edge");
  TargetModel target(arch);
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (unsigned change = 0; change <= round % 3u; ++change) {
      size_t at = random() % damaged.size();
      if (random() % 4 == 0)
        damaged.erase(at, random() % 5);
      else
        damaged[at] = char("0123456789 ,;/mnkx\n#"[random() % 20]);
      if (damaged.empty())
        break;
    }
    Result<PlanBook> book = PlanBook::parse(damaged);
    if (!book.ok())
      continue;
    EXPECT_EQ(PlanBook::parse(book->print())->print(), book->print());
    if (const std::string *plan = book->find(0xff))
      if (Result<TilePlan> read = parsePlan(problem, *plan); read.ok())
        (void)completePlan(problem, *read, target);
  }
}
