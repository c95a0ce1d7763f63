//===- Formats.h - Conversions between element formats ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact conversions to the 32-bit lane view (floats to f32, integers to i32)
// and correctly rounded ones back. NaN is canonical: sign 0, quiet, payload 0.
// docs/numerics.md lists every case.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_FORMATS_H
#define TESSERA_SIM_NUMERICS_FORMATS_H

#include "tessera/Support/NumericFormat.h"
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera::sim {

inline constexpr uint32_t canonicalNan = 0x7fc00000;

inline float asFloat(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t asBits(float value) { return std::bit_cast<uint32_t>(value); }
inline uint32_t canonical(float value) {
  return value != value ? canonicalNan : asBits(value);
}

/// A float format narrower than f32, as numbers.
struct SmallFloat {
  unsigned exponentBits, mantissaBits;
  /// f8E4M3FN: no infinities; all ones is the only NaN; overflow gives NaN.
  bool finiteOnly = false;
};
inline constexpr SmallFloat bf16Shape{8, 7}, f16Shape{5, 10},
    e4m3Shape{4, 3, true}, e5m2Shape{5, 2};

/// Round to nearest even.
uint32_t narrowFloat(SmallFloat shape, uint32_t f32Bits);
uint32_t widenFloat(SmallFloat shape, uint32_t bits);

/// Bytes of one element in the dense form below; i4 takes a byte.
inline size_t denseBytes(NumericFormat format) {
  return format == NumericFormat::I4 ? 1 : bitWidth(format) / 8;
}
/// Dense elements to lanes and back; integers truncate to the low bits.
void widen(NumericFormat format, const uint8_t *dense, size_t count,
           uint32_t *lanes);
void narrow(NumericFormat format, const uint32_t *lanes, size_t count,
            uint8_t *dense);

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_FORMATS_H
