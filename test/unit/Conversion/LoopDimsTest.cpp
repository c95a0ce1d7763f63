//===- LoopDimsTest.cpp ---------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/LoopDims.h"
#include "lib/Conversion/LinearExpr.h"
#include <gtest/gtest.h>
#include <random>

using namespace tessera;

TEST(LoopDims, ContiguousNeighboursMerge) {
  auto dims = simplifyDims({{4, 0, {32, 8}}, {1, 0, {7, 7}}, {8, 0, {4, 1}}});
  ASSERT_EQ(dims.size(), 1u);
  EXPECT_EQ(dims[0].extent, 32);
  EXPECT_EQ(dims[0].strides, (std::vector<int64_t>{4, 1}));
}

TEST(LoopDims, EveryOperandMustAllowIt) {
  EXPECT_EQ(simplifyDims({{4, 0, {32, 8}}, {8, 0, {4, 2}}}).size(), 2u);
  EXPECT_EQ(simplifyDims({{4, 0, {8}}, {8, 1, {1}}}).size(), 2u);
}

TEST(LoopDims, BroadcastMergesWithBroadcast) {
  EXPECT_EQ(simplifyDims({{4, 0, {8, 0}}, {8, 0, {1, 0}}}).size(), 1u);
}

/// The offsets that an operand visits, in order.
static std::vector<int64_t> offsets(const std::vector<LoopDim> &dims,
                                    size_t operand) {
  std::vector<int64_t> result{0};
  for (const LoopDim &dim : dims) {
    std::vector<int64_t> next;
    for (int64_t base : result)
      for (int64_t i = 0; i < dim.extent; ++i)
        next.push_back(base + i * dim.strides[operand]);
    result = std::move(next);
  }
  return result;
}

TEST(LoopDims, TheOrderOfElementsStays) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<LoopDim> dims;
    for (uint64_t i = 0, n = random() % 5; i < n; ++i)
      dims.push_back({int64_t(1 + random() % 4),
                      unsigned(random() % 2),
                      {int64_t(random() % 9), int64_t(random() % 9)}});
    auto simple = simplifyDims(dims);
    EXPECT_LE(simple.size(), dims.size());
    for (size_t operand = 0; operand < 2; ++operand)
      EXPECT_EQ(offsets(dims, operand), offsets(simple, operand));
  }
}

TEST(LinearExpr, TermsThatCancelGo) {
  LinearExpr x = LinearExpr::ofSymbol(3), y = LinearExpr::ofSymbol(1);
  LinearExpr sum = x * 4 + y - x * 4 + LinearExpr(2) - LinearExpr(2);
  EXPECT_EQ(sum.asSymbol(), std::optional<SymbolId>(1));
  EXPECT_EQ((x * 2).asSymbol(), std::nullopt);
  EXPECT_TRUE((x * 0).isConstant());
}
