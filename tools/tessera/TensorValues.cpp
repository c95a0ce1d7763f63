//===- TensorValues.cpp - The elements of a tensor as numbers -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorValues.h"
#include "TensorFiles.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace tessera::tool {

TensorValues::TensorValues(const HostTensor &tensor)
    : tensor(tensor), width(elementBytes(tensor.type)) {}

double TensorValues::unitRoundoff() const {
  if (tensor.type == "f16")
    return 0x1p-11;
  if (tensor.type == "bf16")
    return 0x1p-8;
  if (tensor.type.starts_with("f8E4M3"))
    return 0x1p-4;
  if (tensor.type.starts_with("f8E5M2"))
    return 0x1p-3;
  return 0;
}

bool TensorValues::equalBits(const TensorValues &other, size_t i) const {
  return std::equal(at(i), at(i) + width, other.at(i));
}

/// What a small float has at the ends of its range.
enum class Ends : uint8_t {
  Infinities,
  Finite,  ///< Without infinities.
  OneZero, ///< Nor a second zero, whose bits are NaN; its bias is larger by 1.
};

/// A small float with a sign, `exponentBits` and `mantissaBits`.
static double smallFloat(unsigned bits, int exponentBits, int mantissaBits,
                         Ends ends) {
  int exponentMask = (1 << exponentBits) - 1;
  int bias = exponentMask / 2 + (ends == Ends::OneZero);
  int exponent = static_cast<int>(bits >> mantissaBits) & exponentMask;
  int mantissa = static_cast<int>(bits) & ((1 << mantissaBits) - 1);
  bool isNegative = bits >> (exponentBits + mantissaBits) & 1;
  double sign = isNegative ? -1 : 1;
  if (ends == Ends::OneZero && isNegative && exponent == 0 && mantissa == 0)
    return NAN;
  if (ends == Ends::Finite && exponent == exponentMask &&
      mantissa == (1 << mantissaBits) - 1)
    return NAN;
  if (ends == Ends::Infinities && exponent == exponentMask)
    return mantissa ? NAN : sign * INFINITY;
  mantissa += exponent ? 1 << mantissaBits : 0;
  return sign *
         std::ldexp(mantissa, std::max(exponent, 1) - bias - mantissaBits);
}

double TensorValues::operator[](size_t i) const {
  const std::string &type = tensor.type;
  const std::byte *from = at(i);
  if (type == "f32")
    return loadLittleEndian<float>(from);
  if (type == "f64")
    return loadLittleEndian<double>(from);
  if (type == "bf16")
    return std::bit_cast<float>(uint32_t(loadLittleEndian<uint16_t>(from))
                                << 16);
  if (type == "f16")
    return smallFloat(loadLittleEndian<uint16_t>(from), 5, 10,
                      Ends::Infinities);
  if (type == "f8E4M3FN")
    return smallFloat(loadLittleEndian<uint8_t>(from), 4, 3, Ends::Finite);
  if (type == "f8E5M2")
    return smallFloat(loadLittleEndian<uint8_t>(from), 5, 2, Ends::Infinities);
  if (type == "f8E4M3FNUZ")
    return smallFloat(loadLittleEndian<uint8_t>(from), 4, 3, Ends::OneZero);
  if (type == "f8E5M2FNUZ")
    return smallFloat(loadLittleEndian<uint8_t>(from), 5, 2, Ends::OneZero);
  if (type == "i8")
    return loadLittleEndian<int8_t>(from);
  if (type == "i16")
    return loadLittleEndian<int16_t>(from);
  if (type == "u16")
    return loadLittleEndian<uint16_t>(from);
  if (type == "i32")
    return loadLittleEndian<int32_t>(from);
  if (type == "u32")
    return loadLittleEndian<uint32_t>(from);
  if (type == "i64")
    return loadLittleEndian<int64_t>(from);
  if (type == "u64")
    return loadLittleEndian<uint64_t>(from);
  return loadLittleEndian<uint8_t>(from);
}

} // namespace tessera::tool
