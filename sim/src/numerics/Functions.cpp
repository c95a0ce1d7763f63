//===- Functions.cpp - Functions of the special function units --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/Functions.h"
#include "numerics/Formats.h"
#include <array>
#include <limits>

namespace tessera::sim::functions {

static constexpr float infinity = std::numeric_limits<float>::infinity();
static float nan() { return asFloat(canonicalNan); }

/// 2^k for k in the normal range of double.
static double powerOfTwo(int k) {
  return std::bit_cast<double>(uint64_t(1023 + k) << 52);
}

/// e^x for |x| <= 700: x = k ln 2 + r, |r| <= ln 2 / 2; Taylor's series of e^r
/// to the 13th power is exact to 2^-58 there.
static double expDouble(double x) {
  constexpr double log2e = 0x1.71547652b82fep+0;
  constexpr double ln2High = 0x1.62e42fee00000p-1,
                   ln2Low = 0x1.a39ef35793c76p-33;
  double shifted = x * log2e;
  int k = int(shifted < 0 ? shifted - 0.5 : shifted + 0.5);
  double r = (x - k * ln2High) - k * ln2Low;
  double sum = 1.0;
  for (int n = 13; n >= 1; --n)
    sum = 1.0 + sum * r / n;
  return sum * powerOfTwo(k);
}

float exp(float x) {
  if (x != x)
    return nan();
  if (x > 89.0f)
    return infinity;
  if (x < -104.0f)
    return 0.0f;
  return float(expDouble(x));
}

float log(float x) {
  if (x != x || x < 0.0f)
    return nan();
  if (x == 0.0f)
    return -infinity;
  if (x == infinity)
    return infinity;
  // x = 2^e m, m in [sqrt 1/2, sqrt 2); log m = 2 atanh((m - 1) / (m + 1)).
  uint64_t bits = std::bit_cast<uint64_t>(double(x));
  int e = int(bits >> 52) - 1023;
  double m =
      std::bit_cast<double>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
  if (m > 0x1.6a09e667f3bcdp+0)
    m *= 0.5, ++e;
  double t = (m - 1.0) / (m + 1.0), t2 = t * t;
  double sum = 0.0;
  for (int n = 23; n >= 1; n -= 2)
    sum = sum * t2 + 1.0 / n;
  constexpr double ln2 = 0x1.62e42fefa39efp-1;
  return float(e * ln2 + 2.0 * t * sum);
}

float rsqrt(float x) {
  if (x != x || x < 0.0f)
    return nan();
  if (x == 0.0f)
    return std::bit_cast<uint32_t>(x) >> 31 ? -infinity : infinity;
  if (x == infinity)
    return 0.0f;
  return float(1.0 / __builtin_sqrt(double(x)));
}

float tanh(float x) {
  if (x != x)
    return nan();
  double a = x < 0 ? -double(x) : double(x), y;
  if (a > 10.0)
    y = 1.0;
  else if (a < 0x1p-9)
    y = a - a * a * a / 3.0 + 2.0 * a * a * a * a * a / 15.0;
  else {
    double e = expDouble(2.0 * a);
    y = (e - 1.0) / (e + 1.0);
  }
  // The sign of a zero stays.
  return std::bit_cast<uint32_t>(x) >> 31 ? -float(y) : float(y);
}

float sigmoid(float x) {
  if (x != x)
    return nan();
  if (x > 100.0f)
    return 1.0f;
  if (x < -105.0f)
    return 0.0f;
  return float(1.0 / (1.0 + expDouble(-double(x))));
}

/// erf x = 2 / sqrt(pi) * sum (-1)^n x^(2n+1) / (n! (2n+1)).
static constexpr int erfTerms = 72;
static constexpr std::array<double, erfTerms> erfCoefficients = [] {
  std::array<double, erfTerms> c{};
  double factorial = 1.0;
  for (int n = 0; n < erfTerms; ++n) {
    if (n > 0)
      factorial *= n;
    c[n] = (n % 2 ? -1.0 : 1.0) / (factorial * (2 * n + 1));
  }
  return c;
}();

float erf(float x) {
  if (x != x)
    return nan();
  double a = x < 0 ? -double(x) : double(x), y = 1.0;
  if (a < 4.0) {
    // The terms grow to e^(a*a) before they fall: at 4, 2^23 of the 2^53 are
    // lost, and 2^-30 is still far below f32's half unit.
    double z = a * a;
    int terms = a < 1.0 ? 20 : erfTerms;
    double sum = 0.0;
    for (int n = terms - 1; n >= 0; --n)
      sum = sum * z + erfCoefficients[n];
    y = 0x1.20dd750429b6dp+0 * a * sum;
  }
  return std::bit_cast<uint32_t>(x) >> 31 ? -float(y) : float(y);
}

/// Bits of 2/pi after the point, 32 a word: enough for the largest float.
static constexpr std::array<uint32_t, 9> twoOverPi = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
    0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a};

/// |x| = quadrant * pi/2 + r with |r| <= pi/4, for finite x.
static double reduce(float x, unsigned &quadrant) {
  constexpr double halfPi = 0x1.921fb54442d18p+0;
  uint32_t bits = asBits(x) & 0x7fffffff;
  if (bits < 0x3f490fdb) { // below pi/4
    quadrant = 0;
    return asFloat(bits);
  }
  // |x| = m 2^e. Of m 2^e * 2/pi only the value modulo 4 matters: bits of 2/pi
  // that would land above 2^2 are left out. Take 96 bits from position `first`.
  uint32_t m = (bits & 0x7fffff) | 0x800000;
  int e = int(bits >> 23) - 127 - 23;
  // Bit i after the point (from 1) has weight 2^-i; m 2^(e-i) matters modulo 4
  // only for i > e - 2.
  int first = e - 2 > 0 ? e - 2 : 0; // bits skipped
  auto word = [&](int at) {          // 32 bits after the first `at` bits
    uint64_t pair =
        uint64_t(twoOverPi[at / 32]) << 32 |
        (at / 32 + 1 < int(twoOverPi.size()) ? twoOverPi[at / 32 + 1] : 0);
    return uint32_t(pair << (at % 32) >> 32);
  };
  unsigned __int128 window = (unsigned __int128)word(first) << 64 |
                             uint64_t(word(first + 32)) << 32 |
                             word(first + 64);
  // product / 2^(96 + first - e) is |x| * 2/pi modulo 4 (or all of it).
  unsigned __int128 product = window * m;
  int point = 96 + first - e;
  // point is 98 for large x; for x near 1 it is up to 96 + 24 = 120.
  unsigned __int128 fractionMask = ((unsigned __int128)1 << point) - 1;
  quadrant = unsigned(product >> point) & 3;
  unsigned __int128 fraction = product & fractionMask;
  bool up = (fraction >> (point - 1)) & 1;
  if (up) {
    quadrant = (quadrant + 1) & 3;
    fraction = ((unsigned __int128)1 << point) - fraction;
  }
  // Take the leading 64 bits of the fraction as a double.
  double value;
  auto high = uint64_t(fraction >> 64), low = uint64_t(fraction);
  value = double(high) * 0x1p64 + double(low);
  value *= powerOfTwo(-point);
  return (up ? -value : value) * halfPi;
}

static double sinKernel(double r) {
  double z = r * r, sum = 1.0;
  for (int n = 8; n >= 1; --n)
    sum = 1.0 - sum * z / ((2 * n) * (2 * n + 1));
  return r * sum;
}
static double cosKernel(double r) {
  double z = r * r, sum = 1.0;
  for (int n = 8; n >= 1; --n)
    sum = 1.0 - sum * z / ((2 * n - 1) * (2 * n));
  return sum;
}

static double quadrantSin(double r, unsigned quadrant) {
  double y = quadrant & 1 ? cosKernel(r) : sinKernel(r);
  return quadrant & 2 ? -y : y;
}

float sin(float x) {
  if (x != x || x == infinity || x == -infinity)
    return nan();
  unsigned quadrant;
  double r = reduce(x, quadrant);
  auto y = float(quadrantSin(r, quadrant));
  return asBits(x) >> 31 ? -y : y;
}

float cos(float x) {
  if (x != x || x == infinity || x == -infinity)
    return nan();
  unsigned quadrant;
  double r = reduce(x, quadrant);
  return float(quadrantSin(r, quadrant + 1));
}

} // namespace tessera::sim::functions
