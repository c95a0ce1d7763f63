//===- ExhaustiveTest.cpp - Every value of the small formats --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A format is here the list of its values, made from the definition of sign,
// exponent and mantissa, and rounding is a search in that list: independent of
// the shifts and carries of the simulator.
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include "numerics/Conversion.h"
#include "numerics/Formats.h"
#include "numerics/Functions.h"
#include "tessera/Support/Random.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera::sim::test {

using F = NumericFormat;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// A float format of up to 16 bits by its definition.
class Definition {
public:
  Definition(F format, unsigned exponentBits, unsigned mantissaBits,
             bool hasInfinity)
      : format(format), bits(1 + exponentBits + mantissaBits) {
    int bias = (1 << (exponentBits - 1)) - 1;
    uint32_t all = (1u << exponentBits) - 1, ones = (1u << mantissaBits) - 1;
    for (uint32_t pattern = 0; pattern < 1u << (bits - 1); ++pattern) {
      uint32_t e = pattern >> mantissaBits, m = pattern & ones;
      double value = e == 0 ? std::ldexp(m, 1 - bias - int(mantissaBits))
                            : std::ldexp((1u << mantissaBits) + m,
                                         int(e) - bias - int(mantissaBits));
      if (hasInfinity && e == all)
        value = m == 0 ? inf : NAN;
      if (!hasInfinity && e == all && m == ones)
        value = NAN;
      magnitudes.push_back(value);
    }
    finite = size_t(std::find_if(magnitudes.begin(), magnitudes.end(),
                                 [](double v) { return !(v < inf); }) -
                    magnitudes.begin());
    beyond = hasInfinity ? uint32_t(finite) : (1u << (bits - 1)) - 1;
    quietNan = hasInfinity ? uint32_t(finite) | 1u << (mantissaBits - 1)
                           : (1u << (bits - 1)) - 1;
  }

  uint32_t patterns() const { return 1u << bits; }
  double value(uint32_t pattern) const {
    double magnitude = magnitudes[pattern & (patterns() / 2 - 1)];
    return pattern >= patterns() / 2 ? -magnitude : magnitude;
  }
  /// The pattern nearest to x; of two, the one whose last bit is 0.
  uint32_t nearest(double x, bool saturate = false) const {
    if (std::isnan(x))
      return quietNan;
    uint32_t sign = std::signbit(x) ? patterns() / 2 : 0;
    double magnitude = std::fabs(x);
    auto end = magnitudes.begin() + long(finite);
    auto above = std::lower_bound(magnitudes.begin(), end, magnitude);
    auto index = uint32_t(above - magnitudes.begin());
    if (above == end) {
      // The next value if the format went on decides about overflow.
      double last = magnitudes[finite - 1];
      double half = (last - magnitudes[finite - 2]) / 2;
      bool over = magnitude - last > half ||
                  (magnitude - last == half && (finite - 1) % 2 == 1);
      if (!over || saturate)
        return sign | uint32_t(finite - 1);
      // Without infinity the result is NaN, which has no sign.
      return beyond == quietNan ? quietNan : sign | beyond;
    }
    if (*above != magnitude && index > 0) {
      double up = *above - magnitude, down = magnitude - magnitudes[index - 1];
      if (down < up || (down == up && (index - 1) % 2 == 0))
        --index;
    }
    return sign | index;
  }

  F format;
  unsigned bits;
  std::vector<double> magnitudes;
  size_t finite = 0; ///< Patterns below are finite.
  uint32_t beyond = 0, quietNan = 0;
};

const std::vector<Definition> &definitions() {
  static const std::vector<Definition> all = {{F::BF16, 8, 7, true},
                                              {F::F16, 5, 10, true},
                                              {F::F8E4M3FN, 4, 3, false},
                                              {F::F8E5M2, 5, 2, true}};
  return all;
}

uint32_t widened(F format, uint32_t pattern) {
  uint32_t lane;
  uint8_t dense[4];
  std::memcpy(dense, &pattern, 4);
  widen(format, dense, 1, &lane);
  return lane;
}
uint32_t narrowed(F format, uint32_t lane) {
  uint32_t pattern = 0;
  uint8_t dense[4] = {};
  narrow(format, &lane, 1, dense);
  std::memcpy(&pattern, dense, denseBytes(format));
  return pattern;
}
uint32_t converted(const Conversion &c, uint32_t lane, uint32_t scale = 0,
                   uint32_t zero = 0) {
  uint32_t pattern = 0;
  uint8_t dense[4] = {};
  c.run(1, &lane, &scale, &zero, dense);
  std::memcpy(&pattern, dense, denseBytes(c.to));
  return pattern;
}

/// Where rounding to a format changes: its values, the middles between
/// neighbours, and the f32 next to these.
std::vector<float> boundaries(const Definition &d) {
  std::vector<float> points;
  auto around = [&](double x) {
    auto f = float(x);
    for (float p : {f, std::nextafterf(f, 0.0f), std::nextafterf(f, INFINITY)})
      points.insert(points.end(), {p, -p});
  };
  for (size_t i = 0; i < d.finite; ++i) {
    around(d.magnitudes[i]);
    if (i > 0)
      around((d.magnitudes[i] + d.magnitudes[i - 1]) / 2);
  }
  double last = d.magnitudes[d.finite - 1];
  around(last + (last - d.magnitudes[d.finite - 2]) / 2);
  points.insert(points.end(), {INFINITY, -INFINITY, NAN, 3.4e38f, 1e-45f});
  return points;
}

} // namespace

TEST(Exhaustive, EveryPatternHasItsValue) {
  for (const Definition &d : definitions())
    for (uint32_t p = 0; p < d.patterns(); ++p) {
      uint32_t lane = widened(d.format, p);
      double value = d.value(p);
      if (std::isnan(value))
        ASSERT_EQ(lane, canonicalNan) << formatName(d.format) << " " << p;
      else // bits: the sign of 0 counts
        ASSERT_EQ(lane, asBits(float(value)))
            << formatName(d.format) << " " << p;
    }
}

TEST(Exhaustive, EveryRoundingBoundary) {
  for (const Definition &d : definitions())
    for (float x : boundaries(d)) {
      ASSERT_EQ(narrowed(d.format, asBits(x)), d.nearest(double(x)))
          << formatName(d.format) << " of " << x;
      Conversion c;
      c.to = d.format;
      ASSERT_EQ(converted(c, asBits(x)), d.nearest(double(x)));
      c.saturates = true;
      ASSERT_EQ(converted(c, asBits(x)), d.nearest(double(x), true))
          << formatName(d.format) << " of " << x << ", saturating";
    }
}

TEST(Exhaustive, EveryPatternToEveryOtherFormat) {
  for (const Definition &from : definitions())
    for (const Definition &to : definitions())
      for (uint32_t p = 0; p < from.patterns(); ++p) {
        Conversion c;
        c.from = from.format, c.to = to.format;
        ASSERT_EQ(converted(c, widened(from.format, p)),
                  to.nearest(from.value(p)))
            << formatName(from.format) << " " << p << " to "
            << formatName(to.format);
      }
}

static double roundedTo(double x, isa::Rounding rounding) {
  switch (rounding) {
  case isa::Rounding::Nearest:
    return std::nearbyint(x);
  case isa::Rounding::Zero:
    return std::trunc(x);
  case isa::Rounding::Down:
    return std::floor(x);
  default:
    return std::ceil(x);
  }
}

struct IntegerFormat {
  F format;
  double low, high;
};
static const IntegerFormat integers[] = {{F::I8, -128, 127},
                                         {F::U8, 0, 255},
                                         {F::I4, -8, 7},
                                         {F::I32, -2147483648.0, 2147483647.0}};

TEST(Exhaustive, EveryPatternToIntegers) {
  for (const Definition &d : definitions())
    for (const IntegerFormat &to : integers)
      for (unsigned mode = 0; mode < 4; ++mode)
        for (uint32_t p = 0; p < d.patterns(); ++p) {
          Conversion c;
          c.from = d.format, c.to = to.format;
          c.rounding = isa::Rounding(mode);
          double x = d.value(p);
          double want = std::isnan(x) ? 0
                                      : std::clamp(roundedTo(x, c.rounding),
                                                   to.low, to.high);
          uint32_t mask = uint32_t((uint64_t(1) << bitWidth(to.format)) - 1);
          ASSERT_EQ(converted(c, widened(d.format, p)),
                    uint32_t(int64_t(want)) & mask)
              << formatName(d.format) << " " << x << " to "
              << formatName(to.format);
        }
}

TEST(Exhaustive, IntegersToFloatsRoundOnce) {
  Random random(1);
  std::vector<int32_t> values;
  for (int32_t v = -70000; v <= 70000; ++v)
    values.push_back(v);
  for (int i = 0; i < 20000; ++i) {
    auto v = int32_t(random.next());
    // Close to a tie of f32 and of bf16, where rounding twice would differ.
    values.insert(values.end(),
                  {v, (v & ~0xff) | 0x80, (v & ~0xffff) | 0x8000,
                   (v & ~0xffff) | 0x8001, (v | 0x7fff) & ~0x8000});
  }
  values.insert(values.end(), {INT32_MIN, INT32_MAX});
  for (int32_t v : values) {
    Conversion c;
    c.from = F::I32;
    ASSERT_EQ(converted(c, uint32_t(v)), asBits(float(v))) << v;
    for (const Definition &d : definitions()) {
      c.to = d.format;
      ASSERT_EQ(converted(c, uint32_t(v)), d.nearest(v))
          << v << " to " << formatName(d.format);
    }
  }
  // The zero point's difference needs 33 bits.
  Conversion c;
  c.from = F::I32, c.to = F::F32, c.usesZero = true;
  EXPECT_EQ(converted(c, 0x7fffffff, 0, 0x80000000), asBits(0x1p32f));
  EXPECT_EQ(converted(c, 0x80000000, 0, 0x7fffffff), asBits(-0x1p32f));
}

TEST(Exhaustive, BetweenIntegersSaturates) {
  for (const IntegerFormat &to : integers)
    for (int32_t v = -400; v <= 400; ++v)
      for (int32_t zero : {0, -100, 100}) {
        Conversion c;
        c.from = F::I32, c.to = to.format, c.usesZero = zero != 0;
        double want = std::clamp(double(v + zero), to.low, to.high);
        uint32_t mask = uint32_t((uint64_t(1) << bitWidth(to.format)) - 1);
        ASSERT_EQ(converted(c, uint32_t(v), 0, uint32_t(zero)),
                  uint32_t(int64_t(want)) & mask);
      }
  Conversion c;
  c.from = c.to = F::I32, c.usesZero = true;
  EXPECT_EQ(converted(c, 0x7fffffff, 0, 1), 0x7fffffffu);
  EXPECT_EQ(converted(c, 0x80000000, 0, uint32_t(-1)), 0x80000000u);
}

TEST(Exhaustive, RequantiseIsFourRoundedSteps) {
  Random random(2);
  for (int n = 0; n < 200000; ++n) {
    auto acc = int32_t(random.next()) >> random.below(32);
    float scale =
        std::ldexp(random.uniformFloat(0.5f, 1.0f), -int(random.below(24)));
    auto zero = int32_t(random.between(-128, 127));
    bool divides = random.below(2);
    Conversion c;
    c.from = F::I32, c.to = F::I8;
    c.usesScale = c.usesZero = true;
    c.divides = divides;
    volatile float x = float(acc); // each step rounded to f32
    volatile float y = divides ? x / scale : x * scale;
    double want = std::nearbyint(double(y)) + zero;
    ASSERT_EQ(
        int8_t(converted(c, uint32_t(acc), asBits(scale), uint32_t(zero))),
        int8_t(std::clamp(want, -128.0, 127.0)))
        << acc << " " << scale << " " << zero;
  }
}

//===----------------------------------------------------------------------===//
// Products of all pairs
//===----------------------------------------------------------------------===//

/// Every pattern of `a` times every one of `b`, by the device's matrix engine.
static std::vector<uint32_t> allProducts(F a, F b) {
  Architecture arch = tinyArchitecture();
  arch.acc.bytes = 256 * 256 * 4;
  for (F f : {F::I8, F::U8, F::F8E4M3FN, F::F8E5M2})
    arch.matrix.macsScale[f] = 1.0;
  Machine m(arch);
  std::vector<uint8_t> patterns(256);
  for (unsigned i = 0; i < 256; ++i)
    patterns[i] = uint8_t(i);
  m.write(Machine::dataArea, patterns);
  F sum = isFloat(a) ? F::F32 : F::I32;
  Kernel k;
  k.td(0, tensor(isa::Space::Acc, sum, {256, 256}, 0));
  k.td(1, tensor(isa::Space::Spm, a, {256, 1}, 0));
  k.td(2, tensor(isa::Space::Spm, b, {1, 256}, 0));
  k.td(3, tensor(isa::Space::Spm, F::U8, {256}, 0));
  k.td(4, tensor(isa::Space::Global, F::U8, {256}, Machine::dataArea));
  k.td(5,
       tensor(isa::Space::Global, sum, {256, 256}, Machine::dataArea + 4096));
  k.load(3, 4, {}, {{0, 1}});
  k.mma(0, 1, 2, false, {{0, 1}}, {{1, 1}});
  k.store(5, 0, {{1, 1}});
  k.halt();
  m.run(k);
  return m.read<uint32_t>(Machine::dataArea + 4096, 256 * 256);
}

TEST(Exhaustive, ProductsOfAllPairsOfBytes) {
  const Definition &e4m3 = definitions()[2], &e5m2 = definitions()[3];
  for (const Definition *a : {&e4m3, &e5m2})
    for (const Definition *b : {&e4m3, &e5m2}) {
      std::vector<uint32_t> got = allProducts(a->format, b->format);
      for (uint32_t i = 0; i < 256; ++i)
        for (uint32_t j = 0; j < 256; ++j) {
          // Exact in double and in f32; added to +0.
          double product = a->value(i) * b->value(j) + 0.0;
          uint32_t want =
              std::isnan(product) ? canonicalNan : asBits(float(product));
          ASSERT_EQ(got[i * 256 + j], want) << i << " " << j;
        }
    }
  auto value = [](F f, uint32_t p) {
    return f == F::I8 ? int32_t(int8_t(p)) : int32_t(p);
  };
  for (F a : {F::I8, F::U8})
    for (F b : {F::I8, F::U8}) {
      std::vector<uint32_t> got = allProducts(a, b);
      for (uint32_t i = 0; i < 256; ++i)
        for (uint32_t j = 0; j < 256; ++j)
          ASSERT_EQ(int32_t(got[i * 256 + j]), value(a, i) * value(b, j));
    }
}

//===----------------------------------------------------------------------===//
// Functions on all 16-bit inputs
//===----------------------------------------------------------------------===//

static int64_t place(float x) {
  auto bits = int64_t(asBits(x) & 0x7fffffff);
  return asBits(x) >> 31 ? -bits : bits;
}

TEST(Exhaustive, FunctionsOfAllSixteenBitValues) {
  struct Function {
    const char *name;
    float (*device)(float);
    long double (*reference)(long double);
  };
  const Function all[] = {
      {"rsqrt", functions::rsqrt,
       [](long double x) { return 1 / std::sqrt(x); }},
      {"exp", functions::exp, [](long double x) { return std::exp(x); }},
      {"log", functions::log, [](long double x) { return std::log(x); }},
      {"tanh", functions::tanh, [](long double x) { return std::tanh(x); }},
      {"erf", functions::erf, [](long double x) { return std::erf(x); }},
      {"sin", functions::sin, [](long double x) { return std::sin(x); }},
      {"cos", functions::cos, [](long double x) { return std::cos(x); }},
      {"sigmoid", functions::sigmoid,
       [](long double x) { return 1 / (1 + std::exp(-x)); }}};
  for (const Function &f : all)
    for (size_t d = 0; d < 2; ++d)
      for (uint32_t p = 0; p < 1 << 16; ++p) {
        float x = asFloat(widened(definitions()[d].format, p));
        auto want = float(f.reference(x));
        float got = f.device(x);
        if (std::isnan(want)) {
          ASSERT_EQ(asBits(got), canonicalNan) << f.name << "(" << x << ")";
          continue;
        }
        ASSERT_LE(std::llabs(place(want) - place(got)), 2)
            << f.name << "(" << x << ") = " << got << ", not " << want;
      }
}

} // namespace tessera::sim::test
