//===- MatrixKernelsTest.cpp - Inner loops of mma --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/MatrixKernels.h"
#include "numerics/Formats.h"
#include "tessera/Support/Random.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tessera::sim::test {

/// Whole tiles, rows and columns left over, pieces of K, single elements.
static const MatrixShape shapes[] = {{1, 1, 1},    {1, 5, 300},  {3, 70, 17},
                                     {4, 32, 1},   {8, 32, 128}, {13, 33, 129},
                                     {24, 96, 64}, {7, 16, 256}, {19, 47, 260}};

using Lanes = std::vector<uint32_t>;

/// The definition: one multiply-add after the other.
static void defined(const MatrixShape &s, const Lanes &a, const Lanes &b,
                    Lanes &acc) {
  for (size_t m = 0; m < s.m; ++m)
    for (size_t n = 0; n < s.n; ++n)
      for (size_t k = 0; k < s.k; ++k)
        acc[m * s.n + n] =
            asBits(std::fma(asFloat(a[m * s.k + k]), asFloat(b[k * s.n + n]),
                            asFloat(acc[m * s.n + n])));
}

static Lanes lanes(size_t count, Random &random, bool extremes) {
  static constexpr float special[] = {0.0f,
                                      -0.0f,
                                      0x1p-149f,
                                      -0x1p-126f,
                                      3.4e38f,
                                      -3.4e38f,
                                      std::numeric_limits<float>::infinity()};
  Lanes values(count);
  for (uint32_t &x : values) {
    // Exponents close together, so that sums cancel and tie.
    x = (uint32_t(random.next()) & 0x807fffff) |
        uint32_t(120 + random.below(16)) << 23;
    if (extremes && random.below(8) == 0)
      x = asBits(special[random.below(std::size(special))]);
  }
  return values;
}

TEST(MatrixKernels, AllGiveTheBitsOfTheDefinition) {
  Random random(6);
  for (const MatrixShape &s : shapes)
    for (bool extremes : {false, true}) {
      Lanes a = lanes(s.m * s.k, random, extremes),
            b = lanes(s.k * s.n, random, extremes),
            start = lanes(s.m * s.n, random, extremes), expected = start;
      defined(s, a, b, expected);
      for (uint32_t &x : expected)
        x = canonical(asFloat(x));
      for (const MatrixKernel &kernel : matrixKernels()) {
        Lanes got = start;
        kernel.multiplyFloat(s, a.data(), b.data(), got.data());
        for (uint32_t &x : got)
          x = canonical(asFloat(x));
        ASSERT_EQ(got, expected)
            << kernel.name << " " << s.m << "x" << s.n << "x" << s.k;
      }
      Lanes got = start;
      multiplyFloat(s, a.data(), b.data(), got.data());
      ASSERT_EQ(got, expected); // NaN included
    }
}

TEST(MatrixKernels, IntegersWrapOnAll) {
  Random random(7);
  for (const MatrixShape &s : shapes) {
    Lanes a(s.m * s.k), b(s.k * s.n), start(s.m * s.n);
    for (Lanes *all : {&a, &b, &start})
      for (uint32_t &x : *all)
        x = uint32_t(random.next());
    Lanes expected = start;
    for (size_t m = 0; m < s.m; ++m)
      for (size_t n = 0; n < s.n; ++n)
        for (size_t k = 0; k < s.k; ++k)
          expected[m * s.n + n] += a[m * s.k + k] * b[k * s.n + n];
    for (const MatrixKernel &kernel : matrixKernels()) {
      Lanes got = start;
      kernel.multiplyInteger(s, a.data(), b.data(), got.data());
      ASSERT_EQ(got, expected)
          << kernel.name << " " << s.m << "x" << s.n << "x" << s.k;
    }
  }
}

} // namespace tessera::sim::test
