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
  if (tensor.type == "f8E4M3FN")
    return 0x1p-4;
  if (tensor.type == "f8E5M2")
    return 0x1p-3;
  return 0;
}

bool TensorValues::equalBits(const TensorValues &other, size_t i) const {
  return std::equal(at(i), at(i) + width, other.at(i));
}

/// A small float with a sign, `exponentBits` and `mantissaBits`, without
/// infinities where `finite`.
static double smallFloat(unsigned bits, int exponentBits, int mantissaBits,
                         bool finite) {
  int exponentMask = (1 << exponentBits) - 1, bias = exponentMask / 2;
  int exponent = bits >> mantissaBits & exponentMask;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = bits >> (exponentBits + mantissaBits) & 1 ? -1 : 1;
  if (exponent == exponentMask) {
    if (finite ? mantissa == (1 << mantissaBits) - 1 : mantissa != 0)
      return NAN;
    if (!finite)
      return sign * INFINITY;
  }
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                               : std::ldexp((1 << mantissaBits) + mantissa,
                                            exponent - bias - mantissaBits);
  return sign * value;
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
    return smallFloat(loadLittleEndian<uint16_t>(from), 5, 10, false);
  if (type == "f8E4M3FN")
    return smallFloat(loadLittleEndian<uint8_t>(from), 4, 3, true);
  if (type == "f8E5M2")
    return smallFloat(loadLittleEndian<uint8_t>(from), 5, 2, false);
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
