//===- Formats.cpp - Conversions between element formats --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/Formats.h"
#include <array>
#include <cstring>

namespace tessera::sim {

uint32_t narrowFloat(SmallFloat shape, uint32_t bits) {
  const unsigned width = 1 + shape.exponentBits + shape.mantissaBits;
  const int bias = (1 << (shape.exponentBits - 1)) - 1;
  const uint32_t maxExponent = (1u << shape.exponentBits) - 1;
  const uint32_t mantissaMask = (1u << shape.mantissaBits) - 1;
  const uint32_t nan = shape.finiteOnly
                           ? (maxExponent << shape.mantissaBits) | mantissaMask
                           : (maxExponent << shape.mantissaBits) |
                                 (1u << (shape.mantissaBits - 1));
  const uint32_t sign = bits >> 31 << (width - 1);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return nan;
  if (magnitude == 0x7f800000)
    return shape.finiteOnly ? nan : sign | (maxExponent << shape.mantissaBits);

  // value = significand * 2^(exponent - 23), the significand with its hidden
  // bit.
  int exponent = int(magnitude >> 23) - 127;
  uint32_t significand = magnitude & 0x7fffff;
  if (magnitude >> 23)
    significand |= 0x800000;
  else
    exponent = -126;
  // Bits to drop: more for results that are subnormal.
  int target = exponent < 1 - bias ? 1 - bias : exponent;
  unsigned drop = 23 - shape.mantissaBits + unsigned(target - exponent);
  uint32_t kept = 0;
  if (drop == 0) {
    kept = significand;
  } else if (drop <= 25) {
    kept = significand >> drop;
    uint32_t rest = significand & ((1u << drop) - 1), half = 1u << (drop - 1);
    if (rest > half || (rest == half && (kept & 1)))
      ++kept;
  }
  // `kept` carries the hidden bit if the result is normal: adding it to the
  // shifted exponent less one moves a carry into the exponent by itself.
  uint32_t result;
  if (kept >> shape.mantissaBits == 0)
    result = kept;
  else
    result = (uint32_t(target + bias - 1) << shape.mantissaBits) + kept;
  uint32_t limit = shape.finiteOnly ? nan : maxExponent << shape.mantissaBits;
  if (result >= limit)
    return shape.finiteOnly ? nan : sign | limit;
  return sign | result;
}

uint32_t widenFloat(SmallFloat shape, uint32_t bits) {
  const unsigned width = 1 + shape.exponentBits + shape.mantissaBits;
  const int bias = (1 << (shape.exponentBits - 1)) - 1;
  const uint32_t maxExponent = (1u << shape.exponentBits) - 1;
  const uint32_t mantissaMask = (1u << shape.mantissaBits) - 1;
  const uint32_t sign = (bits >> (width - 1) & 1) << 31;
  uint32_t exponent = bits >> shape.mantissaBits & maxExponent;
  uint32_t mantissa = bits & mantissaMask;
  if (exponent == maxExponent) {
    if (shape.finiteOnly) {
      if (mantissa == mantissaMask)
        return canonicalNan;
    } else {
      return mantissa ? canonicalNan : sign | 0x7f800000;
    }
  }
  if (shape.exponentBits == 8) // bf16: the same exponents, subnormals too
    return sign | exponent << 23 | mantissa << (23 - shape.mantissaBits);
  if (exponent == 0) {
    if (mantissa == 0)
      return sign;
    // A subnormal of a narrower exponent range is normal in f32.
    int e = 1 - bias;
    while (!(mantissa >> shape.mantissaBits))
      mantissa <<= 1, --e;
    return sign | uint32_t(e + 127) << 23 |
           (mantissa & mantissaMask) << (23 - shape.mantissaBits);
  }
  return sign | uint32_t(int(exponent) - bias + 127) << 23 |
         mantissa << (23 - shape.mantissaBits);
}

/// f16 to f32 by scaling, which compilers make vectors of: the bits, moved to
/// f32's places, are the value times 2^-112, subnormal or not.
static uint32_t widenHalf(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  uint32_t finite = asBits(asFloat(rest << 13) * 0x1p112f) | sign;
  uint32_t special = rest > 0x7c00 ? canonicalNan : sign | 0x7f800000;
  return rest >= 0x7c00 ? special : finite;
}

/// f32 to bf16: half of what is cut off, less one for an even result, carries.
static uint16_t narrowBrain(uint32_t bits) {
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return uint16_t((bits & 0x7fffffff) > 0x7f800000 ? canonicalNan >> 16
                                                   : rounded);
}

/// All values of an 8-bit format.
static std::array<uint32_t, 256> widenedBytes(SmallFloat shape) {
  std::array<uint32_t, 256> table;
  for (uint32_t bits = 0; bits < table.size(); ++bits)
    table[bits] = widenFloat(shape, bits);
  return table;
}

static void widenBytes(const std::array<uint32_t, 256> &table,
                       const uint8_t *dense, size_t count, uint32_t *lanes) {
  for (size_t i = 0; i < count; ++i)
    lanes[i] = table[dense[i]];
}

template <typename T> static T element(const uint8_t *p, size_t i) {
  T value;
  std::memcpy(&value, p + i * sizeof(T), sizeof(T));
  return value;
}

void widen(NumericFormat format, const uint8_t *dense, size_t count,
           uint32_t *lanes) {
  switch (format) {
  case NumericFormat::F32:
  case NumericFormat::I32:
    if (count != 0) // No elements may lie at a null pointer.
      std::memcpy(lanes, dense, count * 4);
    return;
  case NumericFormat::BF16:
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits = uint32_t(element<uint16_t>(dense, i)) << 16;
      lanes[i] = (bits & 0x7fffffff) > 0x7f800000 ? canonicalNan : bits;
    }
    return;
  case NumericFormat::F16:
    for (size_t i = 0; i < count; ++i)
      lanes[i] = widenHalf(element<uint16_t>(dense, i));
    return;
  case NumericFormat::F8E4M3FN: {
    static const std::array<uint32_t, 256> table = widenedBytes(e4m3Shape);
    return widenBytes(table, dense, count, lanes);
  }
  case NumericFormat::F8E5M2: {
    static const std::array<uint32_t, 256> table = widenedBytes(e5m2Shape);
    return widenBytes(table, dense, count, lanes);
  }
  case NumericFormat::I8:
    for (size_t i = 0; i < count; ++i)
      lanes[i] = uint32_t(int32_t(int8_t(dense[i])));
    return;
  case NumericFormat::U8:
    for (size_t i = 0; i < count; ++i)
      lanes[i] = dense[i];
    return;
  case NumericFormat::I4:
    for (size_t i = 0; i < count; ++i)
      lanes[i] = uint32_t(int32_t((dense[i] & 15) ^ 8) - 8);
    return;
  }
}

void narrow(NumericFormat format, const uint32_t *lanes, size_t count,
            uint8_t *dense) {
  auto halves = [&](SmallFloat shape) {
    for (size_t i = 0; i < count; ++i) {
      auto value = uint16_t(narrowFloat(shape, lanes[i]));
      std::memcpy(dense + 2 * i, &value, 2);
    }
  };
  switch (format) {
  case NumericFormat::F32:
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits = lanes[i];
      if ((bits & 0x7fffffff) > 0x7f800000)
        bits = canonicalNan;
      std::memcpy(dense + 4 * i, &bits, 4);
    }
    return;
  case NumericFormat::I32:
    if (count != 0)
      std::memcpy(dense, lanes, count * 4);
    return;
  case NumericFormat::BF16:
    for (size_t i = 0; i < count; ++i) {
      uint16_t value = narrowBrain(lanes[i]);
      std::memcpy(dense + 2 * i, &value, 2);
    }
    return;
  case NumericFormat::F16:
    return halves(f16Shape);
  case NumericFormat::F8E4M3FN:
    for (size_t i = 0; i < count; ++i)
      dense[i] = uint8_t(narrowFloat(e4m3Shape, lanes[i]));
    return;
  case NumericFormat::F8E5M2:
    for (size_t i = 0; i < count; ++i)
      dense[i] = uint8_t(narrowFloat(e5m2Shape, lanes[i]));
    return;
  case NumericFormat::I8:
  case NumericFormat::U8:
    for (size_t i = 0; i < count; ++i)
      dense[i] = uint8_t(lanes[i]);
    return;
  case NumericFormat::I4:
    for (size_t i = 0; i < count; ++i)
      dense[i] = lanes[i] & 15;
    return;
  }
}

} // namespace tessera::sim
