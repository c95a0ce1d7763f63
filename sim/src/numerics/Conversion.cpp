//===- Conversion.cpp - What convert does to a value ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/Conversion.h"
#include "numerics/Formats.h"
#include <algorithm>
#include <cstring>

namespace tessera::sim {

IntegerRange integerRange(NumericFormat format) {
  switch (format) {
  case NumericFormat::U8:
    return {0, 255};
  case NumericFormat::I8:
    return {-128, 127};
  case NumericFormat::I4:
    return {-8, 7};
  default:
    return {INT32_MIN, INT32_MAX};
  }
}

/// A float rounded to an integer; NaN gives 0, what is too large saturates far
/// beyond every format.
static int64_t toInteger(float x, isa::Rounding rounding) {
  if (x != x)
    return 0;
  switch (rounding) {
  case isa::Rounding::Nearest:
    x = __builtin_roundevenf(x);
    break;
  case isa::Rounding::Zero:
    x = __builtin_truncf(x);
    break;
  case isa::Rounding::Down:
    x = __builtin_floorf(x);
    break;
  case isa::Rounding::Up:
    x = __builtin_ceilf(x);
    break;
  }
  return int64_t(std::clamp(x, -0x1p60f, 0x1p60f));
}

/// An integer of up to 33 bits to the f32 from which narrowing to `to` gives
/// the integer rounded once: for narrower formats the last bit tells that
/// something was lost.
static uint32_t integerLane(int64_t value, NumericFormat to) {
  auto exact = double(value);
  auto nearest = float(exact);
  if (to == NumericFormat::F32 || double(nearest) == exact)
    return asBits(nearest);
  uint32_t bits = asBits(nearest);
  bool above = (double(nearest) > exact) == (exact > 0);
  return (above ? bits - 1 : bits) | 1;
}

/// The largest finite value of a float format, without its sign.
static uint32_t largestFinite(NumericFormat format) {
  switch (format) {
  case NumericFormat::BF16:
    return 0x7f7f;
  case NumericFormat::F16:
    return 0x7bff;
  case NumericFormat::F8E4M3FN:
    return 0x7e;
  case NumericFormat::F8E5M2:
    return 0x7b;
  default:
    return 0x7f7fffff;
  }
}

static void store(NumericFormat to, uint32_t bits, uint8_t *element) {
  if (to == NumericFormat::I4)
    bits &= 15;
  std::memcpy(element, &bits, denseBytes(to));
}

void Conversion::run(size_t count, const uint32_t *source,
                     const uint32_t *scale, const uint32_t *zero,
                     uint8_t *dense) const {
  bool fromFloat = isFloat(from), toFloat = isFloat(to);
  IntegerRange range = integerRange(to);
  size_t bytes = denseBytes(to);
  for (size_t i = 0; i < count; ++i, dense += bytes) {
    int64_t integer = fromFloat ? 0 : int32_t(source[i]);
    if (usesZero && toFloat)
      integer -= int32_t(zero[i]);
    bool isInteger = !fromFloat;
    uint32_t lane = source[i];
    if (usesScale) {
      float x = fromFloat ? asFloat(lane) : float(integer);
      float s = asFloat(scale[i]);
      lane = canonical(divides ? x / s : x * s);
      isInteger = false;
    }
    if (!toFloat) {
      if (!isInteger)
        integer = toInteger(asFloat(lane), rounding);
      if (usesZero)
        integer += int32_t(zero[i]);
      store(to, uint32_t(std::clamp(integer, range.low, range.high)), dense);
      continue;
    }
    if (isInteger)
      lane = integerLane(integer, to);
    narrow(to, &lane, 1, dense);
    if (!saturates || (lane & 0x7fffffff) > 0x7f800000)
      continue; // NaN stays NaN
    uint32_t result = 0, largest = largestFinite(to);
    std::memcpy(&result, dense, bytes);
    uint32_t sign = uint32_t(1) << (bitWidth(to) - 1);
    if ((result & ~sign) > largest)
      store(to, (lane >> 31 ? sign : 0) | largest, dense);
  }
}

} // namespace tessera::sim
