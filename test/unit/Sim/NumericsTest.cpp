//===- NumericsTest.cpp - Formats, functions, multiply-add, reductions -*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/ExactFma.h"
#include "numerics/Formats.h"
#include "numerics/Functions.h"
#include "numerics/LaneProgram.h"
#include "numerics/Reduction.h"
#include "tessera/Support/Random.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace tessera::sim::test {

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

static constexpr SmallFloat shapes[] = {bf16Shape, f16Shape, e4m3Shape,
                                        e5m2Shape};

static unsigned width(SmallFloat s) {
  return 1 + s.exponentBits + s.mantissaBits;
}

TEST(Formats, WideningThenNarrowingIsTheIdentity) {
  for (SmallFloat s : shapes)
    for (uint32_t bits = 0; bits < 1u << width(s); ++bits) {
      uint32_t wide = widenFloat(s, bits);
      if (wide == canonicalNan)
        continue;
      ASSERT_EQ(narrowFloat(s, wide), bits) << width(s);
    }
}

TEST(Formats, ValuesOfF16MatchTheCompilers) {
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    auto half = std::bit_cast<_Float16>(uint16_t(bits));
    auto expected = float(half);
    float got = asFloat(widenFloat(f16Shape, bits));
    ASSERT_TRUE(expected == got || (expected != expected && got != got))
        << bits;
  }
}

/// Rounding by definition: the nearest of the two neighbours, ties to even.
TEST(Formats, NarrowingRoundsToNearestEven) {
  Random random(1);
  for (SmallFloat s : shapes) {
    uint32_t infinity = ((1u << s.exponentBits) - 1) << s.mantissaBits;
    uint32_t largest =
        s.finiteOnly ? infinity | ((1u << s.mantissaBits) - 2) : infinity - 1;
    for (int n = 0; n < 20000; ++n) {
      // Half of the samples near the format's own values.
      uint32_t bits = uint32_t(random.next());
      if (n % 2)
        bits = widenFloat(s, uint32_t(random.below(1u << width(s)))) +
               (1u << (22 - s.mantissaBits)) * uint32_t(random.below(3));
      float x = std::fabs(asFloat(bits));
      if (x != x || x == std::numeric_limits<float>::infinity())
        continue;
      uint32_t got = narrowFloat(s, asBits(x));
      if (x > asFloat(widenFloat(s, largest))) {
        // Beyond the largest: half of the last step decides.
        double step = double(asFloat(widenFloat(s, largest))) -
                      asFloat(widenFloat(s, largest - 1));
        bool over = double(x) - asFloat(widenFloat(s, largest)) > step / 2 ||
                    (double(x) - asFloat(widenFloat(s, largest)) == step / 2 &&
                     (largest & 1));
        uint32_t beyond = s.finiteOnly ? largest + 1 : infinity;
        ASSERT_EQ(got, over ? beyond : largest) << x;
        continue;
      }
      double error = std::fabs(double(asFloat(widenFloat(s, got))) - x);
      for (uint32_t other :
           {got == 0 ? got : got - 1, std::min(got + 1, largest)}) {
        double d = std::fabs(double(asFloat(widenFloat(s, other))) - x);
        ASSERT_LE(error, d) << x;
        if (other != got && error == d) {
          ASSERT_EQ(got & 1, 0u) << x;
        }
      }
    }
  }
}

/// What moves whole tensors has faster code for some formats.
TEST(Formats, TensorsAreConvertedAsSingleValuesAre) {
  auto shapeOf = [](NumericFormat f) {
    return f == NumericFormat::BF16       ? bf16Shape
           : f == NumericFormat::F16      ? f16Shape
           : f == NumericFormat::F8E4M3FN ? e4m3Shape
                                          : e5m2Shape;
  };
  for (NumericFormat format :
       {NumericFormat::BF16, NumericFormat::F16, NumericFormat::F8E4M3FN,
        NumericFormat::F8E5M2}) {
    size_t count = size_t(1) << bitWidth(format), bytes = denseBytes(format);
    std::vector<uint8_t> dense(count * bytes);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(&dense[i * bytes], &i, bytes); // little endian
    std::vector<uint32_t> lanes(count);
    widen(format, dense.data(), count, lanes.data());
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(lanes[i], widenFloat(shapeOf(format), uint32_t(i)))
          << formatName(format) << " " << i;
  }
  // Around every value that bf16 has, and halfway between two.
  std::vector<uint32_t> lanes;
  for (uint32_t high = 0; high < 1 << 16; ++high)
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      lanes.push_back(high << 16 | low);
  std::vector<uint16_t> got(lanes.size());
  narrow(NumericFormat::BF16, lanes.data(), lanes.size(),
         reinterpret_cast<uint8_t *>(got.data()));
  for (size_t i = 0; i < lanes.size(); ++i)
    ASSERT_EQ(got[i], narrowFloat(bf16Shape, lanes[i])) << lanes[i];
}

TEST(Formats, Specials) {
  auto inf = asBits(std::numeric_limits<float>::infinity());
  EXPECT_EQ(narrowFloat(bf16Shape, 0xffc12345), 0x7fc0u); // NaN is canonical
  EXPECT_EQ(narrowFloat(e4m3Shape, inf), 0x7fu);          // no infinity: NaN
  EXPECT_EQ(narrowFloat(e5m2Shape, inf), 0x7cu);
  EXPECT_EQ(narrowFloat(e4m3Shape, asBits(448.0f)), 0x7eu);
  EXPECT_EQ(narrowFloat(f16Shape, asBits(-0.0f)), 0x8000u);
  EXPECT_EQ(narrowFloat(f16Shape, asBits(0x1p-25f)), 0u); // tie to even
  EXPECT_EQ(narrowFloat(f16Shape, asBits(0x1.8p-25f)), 1u);
  uint8_t packed[2] = {0x0f, 0x07};
  uint32_t lanes[2];
  widen(NumericFormat::I4, packed, 2, lanes);
  EXPECT_EQ(int32_t(lanes[0]), -1);
  EXPECT_EQ(int32_t(lanes[1]), 7);
  lanes[0] = 300;
  narrow(NumericFormat::U8, lanes, 1, packed);
  EXPECT_EQ(packed[0], 44); // truncated
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A float's place in the order of floats.
static int64_t rank(float x) {
  auto bits = int64_t(asBits(x) & 0x7fffffff);
  return asBits(x) >> 31 ? -bits : bits;
}

static void checkUlps(const char *name, float (*function)(float),
                      long double (*reference)(long double), uint32_t first,
                      uint32_t last, uint32_t step) {
  int64_t worst = 0;
  float at = 0;
  for (uint64_t bits = first; bits <= last; bits += step)
    for (uint32_t sign : {0u, 0x80000000u}) {
      float x = asFloat(uint32_t(bits) | sign);
      auto expected = float(reference(x));
      float got = function(x);
      if (expected != expected) {
        ASSERT_EQ(asBits(got), canonicalNan) << name << "(" << x << ")";
        continue;
      }
      int64_t error = std::llabs(rank(expected) - rank(got));
      if (error > worst)
        worst = error, at = x;
    }
  EXPECT_LE(worst, 2) << name << "(" << at << ")";
}

static long double sigmoidReference(long double x) {
  return 1 / (1 + std::exp(-x));
}
static long double rsqrtReference(long double x) { return 1 / std::sqrt(x); }

TEST(Functions, WithinTwoUlps) {
  // Every exponent, 128 to 512 mantissas each, both signs.
  const uint32_t last = 0x7f7fffff, coarse = 65521, fine = 16381;
  checkUlps("exp", functions::exp, std::exp, 0, last, fine);
  checkUlps("log", functions::log, std::log, 0, last, fine);
  checkUlps("tanh", functions::tanh, std::tanh, 0, last, fine);
  checkUlps("sigmoid", functions::sigmoid, sigmoidReference, 0, last, fine);
  checkUlps("erf", functions::erf, std::erf, 0, last, coarse);
  checkUlps("sin", functions::sin, std::sin, 0, last, coarse);
  checkUlps("cos", functions::cos, std::cos, 0, last, coarse);
  checkUlps("rsqrt", functions::rsqrt, rsqrtReference, 1, last, fine);
  // Where they are difficult: around 1 and the multiples of pi/2.
  checkUlps("log", functions::log, std::log, asBits(0.99f), asBits(1.01f), 37);
  checkUlps("sin", functions::sin, std::sin, asBits(1.5f), asBits(7.0f), 1021);
  checkUlps("cos", functions::cos, std::cos, asBits(1.5f), asBits(7.0f), 1021);
  checkUlps("exp", functions::exp, std::exp, asBits(85.0f), asBits(105.0f),
            127);
  checkUlps("erf", functions::erf, std::erf, asBits(3.5f), asBits(4.2f), 1021);
}

TEST(Functions, Specials) {
  float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(functions::exp(-inf), 0.0f);
  EXPECT_EQ(functions::exp(inf), inf);
  EXPECT_EQ(functions::log(0.0f), -inf);
  EXPECT_EQ(functions::tanh(-inf), -1.0f);
  EXPECT_EQ(asBits(functions::tanh(-0.0f)), 0x80000000u);
  EXPECT_EQ(asBits(functions::sin(-0.0f)), 0x80000000u);
  EXPECT_EQ(functions::cos(0.0f), 1.0f);
  EXPECT_EQ(asBits(functions::sin(inf)), canonicalNan);
  EXPECT_EQ(functions::rsqrt(inf), 0.0f);
  EXPECT_EQ(functions::sigmoid(0.0f), 0.5f);
}

//===----------------------------------------------------------------------===//
// Multiply-add
//===----------------------------------------------------------------------===//

static float anyFloat(Random &random) {
  // Exponents close together, so that sums cancel and tie.
  uint32_t bits = uint32_t(random.next());
  switch (random.below(4)) {
  case 0:
    return asFloat(bits); // anything at all
  case 1:
    return asFloat((bits & 0x807fffff) | uint32_t(120 + random.below(16))
                                             << 23);
  case 2: // few mantissa bits
    return asFloat((bits & 0x80700000) | uint32_t(110 + random.below(30))
                                             << 23);
  default: // tiny
    return asFloat((bits & 0x807fffff) | uint32_t(random.below(80)) << 23);
  }
}

TEST(MultiplyAdd, SoftwareIsTheHosts) {
  Random random(5);
  for (int n = 0; n < 2'000'000; ++n) {
    float a = anyFloat(random), b = anyFloat(random), c = anyFloat(random);
    uint32_t expected = canonical(std::fma(a, b, c));
    ASSERT_EQ(canonical(exactFma(a, b, c)), expected)
        << a << " " << b << " " << c;
  }
}

//===----------------------------------------------------------------------===//
// Lane programs and reductions
//===----------------------------------------------------------------------===//

static uint32_t lane(isa::LaneOpcode op, uint32_t a, uint32_t b = 0,
                     uint32_t c = 0) {
  isa::MapProgram p;
  p.inputs = 3;
  p.ops.push_back({op, 3, 0, 1, 2, 0});
  LaneRegisters regs{};
  regs.value[0][0] = a, regs.value[1][0] = b, regs.value[2][0] = c;
  runLaneProgram(p, regs, 1);
  return regs.value[3][0];
}
static uint32_t laneF(isa::LaneOpcode op, float a, float b = 0, float c = 0) {
  return lane(op, asBits(a), asBits(b), asBits(c));
}

TEST(LaneProgram, EdgeCases) {
  using Op = isa::LaneOpcode;
  float inf = std::numeric_limits<float>::infinity();
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(laneF(Op::MINF, 0.0f, -0.0f), asBits(-0.0f));
  EXPECT_EQ(laneF(Op::MAXF, -0.0f, 0.0f), asBits(0.0f));
  EXPECT_EQ(laneF(Op::MINF, 1.0f, nan), canonicalNan);
  EXPECT_EQ(laneF(Op::SUBF, inf, inf), canonicalNan);
  EXPECT_EQ(laneF(Op::ROUNDF, 2.5f), asBits(2.0f));
  EXPECT_EQ(laneF(Op::FLOORF, -0.5f), asBits(-1.0f));
  EXPECT_EQ(laneF(Op::EQF, nan, nan), 0u);
  EXPECT_EQ(laneF(Op::NEF, nan, nan), 1u);
  EXPECT_EQ(laneF(Op::FTOI, 3e9f), 0x7fffffffu);
  EXPECT_EQ(laneF(Op::FTOI, -3e9f), 0x80000000u);
  EXPECT_EQ(laneF(Op::FTOI, nan), 0u);
  EXPECT_EQ(laneF(Op::FTOI, -2.9f), uint32_t(-2));
  EXPECT_EQ(lane(Op::SELECT, 2, 7, 9), 7u);
  EXPECT_EQ(lane(Op::SHLI, 1, 32), 0u);
  EXPECT_EQ(lane(Op::SHRSI, 0x80000000, 99), 0xffffffffu);
  EXPECT_EQ(lane(Op::SHRUI, 0x80000000, 31), 1u);
  EXPECT_EQ(lane(Op::MULHSI, 0x80000000, 0x80000000), 0x40000000u);
  EXPECT_EQ(lane(Op::DIVI, 0x80000000, uint32_t(-1)), 0x80000000u);
  EXPECT_EQ(lane(Op::DIVI, 7, 0), 0u);
  EXPECT_EQ(lane(Op::REMI, uint32_t(-7), 3), uint32_t(-1));
  EXPECT_EQ(lane(Op::REMI, 0x80000000, uint32_t(-1)), 0u);
  EXPECT_EQ(lane(Op::LTU, 1, uint32_t(-1)), 1u);
  EXPECT_EQ(lane(Op::LTI, 1, uint32_t(-1)), 0u);
  EXPECT_EQ(laneF(Op::RNDBF16, 1.00390625f), asBits(1.0f));
  EXPECT_EQ(laneF(Op::FMA, 0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f),
            asBits(0x1p-46f));
}

TEST(LaneProgram, EveryOperationIsImplemented) {
  // An operation left out would leave its destination as it was.
  for (const isa::LaneOpInfo &info : isa::allLaneOps()) {
    isa::MapProgram p;
    p.ops.push_back({info.opcode, 3, 0, 1, 2, 0x12345});
    LaneRegisters regs{};
    regs.value[0][0] = asBits(0.75f), regs.value[1][0] = asBits(0.5f);
    regs.value[2][0] = asBits(0.25f);
    regs.value[3][0] = 0xdeadbeef;
    runLaneProgram(p, regs, 1);
    EXPECT_NE(regs.value[3][0], 0xdeadbeef) << info.mnemonic;
  }
}

TEST(Reduction, InterleavesThenTree) {
  // 130 values: partial j is v[j] + v[j + 64] (+ v[j + 128]), then neighbours.
  Random random(9);
  std::vector<float> v(130);
  for (float &x : v)
    x = random.uniformFloat(-1, 1);
  std::vector<float> level(64, 0.0f);
  for (size_t j = 0; j < v.size(); ++j)
    level[j % 64] += v[j];
  while (level.size() > 1) {
    std::vector<float> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(level[i] + level[i + 1]);
    level = next;
  }
  Reduction sum(isa::Reduce::Sum, true), least(isa::Reduce::Min, true);
  for (float x : v) {
    sum.add(asBits(x));
    least.add(asBits(x));
  }
  EXPECT_EQ(sum.finish(), asBits(level[0]));
  EXPECT_EQ(least.finish(), asBits(*std::min_element(v.begin(), v.end())));
  Reduction most(isa::Reduce::Max, false);
  most.add(uint32_t(-5));
  EXPECT_EQ(int32_t(most.finish()), -5);
}

} // namespace tessera::sim::test
